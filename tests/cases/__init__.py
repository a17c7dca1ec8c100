"""Any folder of answers and input files gone over: ``python -m tests.cases DIR``.

Each answer is parsed whole and in splits, judged and written in every form; each input file is opened, rendered and
read through a scripted engine (``--engine cpu``: through the embedded one). Everything must end in pages or in one
clear message, in time and in bounded memory; what does not is told, and the exit status is 1.
"""
