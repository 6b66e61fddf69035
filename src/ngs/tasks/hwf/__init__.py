"""Handwritten formulas (Li et al. 2020, Sec. 4.1): symbol images, formulas and their values.

Read first: `trainable.py`, the task; `dataset.py`, the data in memory; then `packed.py`, where they
come from. The grammar is `ngs.grammar.grammar.arithmetic`, the semantics `ngs.Arithmetic`.

    trainable.py           the task, as the rest of the package sees it
    settings.py            the settings of a run, an option for each
    preparation.py         a run with its data and its network
    dataset.py             symbol images, and formulas written with them
    embedded.py            data that need no download: formulas, and digits for a first task of your own
    formulas.py            random formulas of a grammar, with their values
    glyphs.toml            how each symbol is written, as strokes
    handwriting.py         writers with a hand of their own, and a pen
    archive.py             the published archive, read and checked
    listing.py             its lists of formulas, entry by entry
    members.py             the files of a zip archive or a folder, read safely
    packed.py              a data set in one file; or the embedded one
    splitting.py           a split in which no test image occurs in training
    composition.py         longer formulas from the images of a data set
    inspection.py          what a data set holds, and what it leaks
    integer_judge.py       judges long formulas in whole numbers, exactly
    pictures.py            formulas from image files
    segmentation.py        which pieces of ink in a line are one symbol
    paper                  the paper's tables and figures of formulas, and experiments beside them
    formula_reading.py     what a network makes of the symbols of a formula
    reading_commands.py    ngs predict and explain, and the whole loop of the paper on one formula: ngs tour
    data_commands.py       ngs data import and inspect
    report                 what is shown of a run: its images, confusions and corrections
    playground             what `ngs serve` shows: drawings read, corrected and learned from
"""
