"""``python -m uocr_nb`` is ``uocr``."""

from uocr_nb.cli import main

raise SystemExit(main())
