"""What the sample document says: plain text with a few marks.

``# `` starts a heading, ``- `` an item, ``$$`` a formula; ``*words*`` are italic, ``^1`` is a raised note mark.
"""

from __future__ import annotations

__all__ = [
    "AUTHORS",
    "FOOTER",
    "HEADER",
    "NOTE",
    "RESOLUTIONS",
    "STANDFIRST",
    "TABLE_CAPTION",
    "TITLE",
    "X_HEIGHT",
    "story",
]

HEADER = "Notes on Reading Machines"
FOOTER = "Sample document of the uocr_nb project"
TITLE = "Machines That Learned to Read"
AUTHORS = "The uocr_nb contributors"
STANDFIRST = """\
Reading seems effortless once the effort of learning it is forgotten. Teaching it to machines has taken more than a
century, and every generation of engineers found out anew what it was that had to be taught.
"""
NOTE = "^1 From two Greek roots, for seeing and for sound."
TABLE_CAPTION = "Table 1. One A4 page as a scanner hands it over, at six resolutions."

RESOLUTIONS = (("Preview", (75, 100)), ("Office", (150, 200)), ("Archive", (300, 400)))
"""Use -> dots per inch: the row groups of the table and the bars of the chart."""

X_HEIGHT = 4.5
"""Points; height of the letter x of Times at ten points (0.45 em)."""

LABELS = {"# ": "title", "- ": "list", "$$ ": "equation", "[chart]": "chart", "[caption] ": "image_caption"}

STORY = r"""
# 1. A page that sang

In the years before the First World War the physicist Edmund Fournier d’Albe, working in Birmingham, made use of a
curious property of selenium: the element conducts electricity better in the light than in the dark. His *optophone*^1
moved a short column of light spots along a line of print. Every spot had a musical note of its own. White paper
sounded the whole chord, and ink under a spot silenced its note. A later instrument, made by Barr and Stroud in
Glasgow, turned this round and let the ink sing.

With practice a listener heard each letter as a small motif. Mary Jameson, one of the first to master the instrument,
showed it in public in 1918, and in later years she read books with it at some sixty words a minute.

The optophone recognised nothing. It turned one pattern into another and left the reading to a person. That way of
sharing the work is worth remembering, for it returns whenever a machine is not quite sure.

# 2. Templates and light

Gustav Tauschek, an engineer from Vienna, wanted the machine itself to decide. The *reading machine* for which he
sought a patent in 1929 carried a set of templates in the shapes of the characters. The image of a printed letter was
thrown on one template after another. Where letter and template matched, no light came through to the photocell
behind, and the darkness was the answer.

Whole shapes can be matched for as long as shapes stay the same. A worn ribbon, a tilted sheet or a second typeface is
enough to spoil the match. For decades engineers therefore preferred to make the page simpler rather than the machine
wiser.

Business did not wait for wisdom. About 1950 David Shepard, who had broken ciphers for a living, built a reader at
home and called it *Gismo*. In the middle of that decade his company set up a machine at the *Reader’s Digest*, where
it turned typed sales reports into punched cards. From 1965 the United States Post Office sorted letters with readers
that owed much to the inventor Jacob Rabinow.

In 1968 came two typefaces that were drawn for machines first and for people second. OCR-A is angular and makes no
secret of it. OCR-B, by Adrian Frutiger, is so gentle that few travellers notice it in the two lines at the foot of
their passports, where it is still at work.

# 3. Any typeface at all

Ray Kurzweil set out in 1974 to read print in any common typeface. His machine, presented in January 1976, brought
together a flatbed scanner, a recogniser that knew letters by their features, and a voice that spoke the result aloud.
On the evening of that day it read the closing words of the television news, in place of Walter Cronkite.

Then came learning from examples. In 1989 a group around Yann LeCun at Bell Laboratories trained a network on
handwritten digits from envelopes. Nobody had told it what makes a seven; it had been shown many. At about the same
time Hewlett-Packard was working on *Tesseract*, which did well in a public test in 1995, rested for ten years, and
was given away as open source in 2005.

# 4. Help from the language

Shapes alone go only so far. The letters r and n, set close together, look like an m, and the figure one, the small l
and the capital I are hard to tell apart even for people. Readers get over this without noticing, because they know
which words exist and what the sentence is about.

Machines were taught the same in small steps. Lists of words came first, and a letter in doubt was settled by the
entry that fitted best. Then came counts of which letters tend to follow which. In the new century networks learned to
read whole lines without cutting them into letters, which is what joined scripts such as Arabic had been waiting for.

People lent a hand as well. From 2007 on a project called *reCAPTCHA* took words from scanned books and newspapers, on
which two programs could not agree, and showed them to visitors of web sites. To prove that they were human, the
visitors typed what they saw, and so the words were read after all.

Knowing the language has its dangers. A machine that knows what is likely may write what is likely where the page says
something else. A rare surname becomes a common one, and a misprint is quietly mended. Whoever needs the page as it
stands, mistakes included, does well to keep an eye on the picture.

# 5. What a page weighs

A scanner knows nothing of letters. It hands over a grid of numbers, and only its owner can say how fine the grid
should be. Figure 1 shows what the choice means for a small letter. Below some eight pixels the loop of an e closes
and an m becomes a comb; far above twenty there is little left to gain.

[chart]

[caption] Figure 1. Height of a small letter x, set in ten-point type, in pixels at six resolutions of the scanner.

Detail has its price. Twice the resolution makes a letter twice as tall and the page four times as heavy, as Table 1
shows. Between 150 and 300 dots per inch most machines and most hard disks are content.

# 6. Counting slips

How well does a machine read? The usual answer sets its text beside a careful transcription and counts the characters
that have to be substituted, deleted or inserted to make the two agree. Vladimir Levenshtein described this distance
in 1965. The mean error rate of *P* pages is

$$ \overline{E} = \dfrac{1}{P} \, \sum_{p=1}^{P} \, \dfrac{S_p + D_p + I_p}{N_p}

where *S*, *D* and *I* count the three kinds of slip on a page and *N* is the number of characters in its
transcription. When the word *modern* is read as *modem*, one letter has been substituted and one deleted: two slips
in six letters, a rate of 33 per cent. One slip in a hundred sounds small. On a page of three thousand characters it
is thirty of them, and one may well fall on a name or a sum of money.

The rate is blind to much that matters. It does not care whether the slip is a lost comma or a lost minus sign, and it
says nothing about a column that was read before its neighbour.

# 7. More than letters

A page is also an arrangement. A heading governs what stands below it, a caption belongs to its figure, and a note at
the foot waits for its mark. People see all this before they have read a word. A machine has to find answers to four
questions:

- Where are the blocks, and of what kind is each?
- In which order would a person read them?
- Which cells of a table reach across several rows or columns?
- What is not text at all and should stay a picture?

Recent models answer all four at once. They are given the picture of a page and write down its blocks one after the
other, each with its kind and the corners of its box, much as a person reads aloud and points along.

Tables ask for most. The lines that a person follows with ease may be thin, broken or not printed at all; then nothing
but white space keeps the columns apart. In Table 1 the word Office belongs to two rows, and the words Size in pixels
stand over two columns. A reader that loses such a span moves every number below it to a neighbour’s place, and each
of them still looks right.

# 8. What is left to us

A machine that reads by writing can write what it has not read. It may repeat the same row for ever, stop halfway
down, or end a sentence as sentences commonly end. An honest reader thus reports more than its text: which pages are
whole, which were cut short, and which were not read at all.

It helps when the machine shows its work. A box round every block tells at a glance what was taken for a heading, what
was left out, and in which order the columns were followed. A person finds in seconds what would take an hour to find
in the text alone, and the few pages that need a second reading are soon counted.

The optophone left judgement to its listener. A century on, part of that work is still ours, and a page whose boxes
stand next to its text is a good place to do it.

# About these pages

These pages were written for uocr_nb and are set by a program that comes with it. The same program makes a second
copy: rendered to grey pixels, tilted, blurred, unevenly lit and speckled, as though by a tired office scanner.

Nothing on them is borrowed and nothing is secret. Read them with any engine, look at the boxes, count the slips, and
compare the outcome with the text file that lies beside them.

# Nine dates

- Before 1914: the optophone sings in Birmingham.
- 1929: Tauschek applies for his patent.
- About 1950: Gismo reads in Shepard’s home.
- 1965: machines sort the letters of the United States.
- 1968: OCR-A and OCR-B are drawn.
- 1976: Kurzweil’s machine reads books aloud.
- 1989: a network reads handwritten digits.
- 2005: Tesseract becomes open source.
- 2007: reCAPTCHA asks for help.
"""


def story() -> list[tuple[str, str]]:
    """Return the running text as (label, text) in reading order; items of a list are parted by tabs."""
    return [_labelled(part) for part in STORY.strip().split("\n\n")]


def _labelled(part: str) -> tuple[str, str]:
    for mark, label in LABELS.items():
        if part.startswith(mark):
            lines = part.removeprefix(mark).split("\n")
            return label, "\t".join(line.removeprefix(mark) for line in lines) if label == "list" else " ".join(lines)
    return "text", " ".join(part.split("\n"))
