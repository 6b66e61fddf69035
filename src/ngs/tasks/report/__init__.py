"""What a task tells about a run on its page: words, sections and templates, without the page around them.

    sections.py   a section, the templates it is made by, and numbers as text
    readings.py   what a network reads in some examples, and what the labels tell
    searches.py   what 1-BS and m-BS make of wrong answers, and which corrections are spurious
    report.py     shares with intervals; the report of any task, and of any that is learned from answers

`report.AnswersReport` tells about any task with a grammar and answers as it is. A task with more to show
makes a subclass in a folder of its own, where a template replaces the general one of the same name:

    supervision.html, remark.html    what stands above and below the headline
    accuracy.html                    what is right of what
    mistakes.html, corrections.html  cards under headings, each by card.html
"""
