"""What commands share: how they print, the options of several of them, and what they write.

Read first: `printing.py`. Commands are in `apps`, and those of one task in its folder; nothing else prints.

    printing.py       text printed without markup, tables as wide as they are, and JSON
    options.py        a configuration as options of a command
    written_files.py  files that a command writes, never over what it reads
    data_reports.py   what ngs data prints of any data set
"""
