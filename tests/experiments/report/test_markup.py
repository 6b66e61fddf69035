"""Markup is what elements make; all else is text."""

from __future__ import annotations

from ngs.experiments.report.markup import Html, element


def test_markup_is_what_elements_make() -> None:
    assert element("p", "1 < 2 & 'x'") == "<p>1 &lt; 2 &amp; &#x27;x&#x27;</p>"
    assert element("p", Html("<b>x</b>"), title='"', id=None) == '<p title="&quot;"><b>x</b></p>'
