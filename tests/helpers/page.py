"""The elements of an HTML page."""

from __future__ import annotations

from html.parser import HTMLParser

VOID = {"meta", "img"}


class Page(HTMLParser):
    """The elements of a page in order: tag, attributes and text. Refuses unbalanced tags."""

    def __init__(self, html):
        super().__init__()
        self.elements, self._open = [], []
        self.feed(html)
        self.close()
        assert not self._open

    def handle_starttag(self, tag, attrs):
        self.elements.append({"tag": tag, "attrs": dict(attrs), "text": ""})
        if tag not in VOID:
            self._open.append(self.elements[-1])

    def handle_startendtag(self, tag, attrs):
        self.elements.append({"tag": tag, "attrs": dict(attrs), "text": ""})

    def handle_endtag(self, tag):
        assert self._open.pop()["tag"] == tag

    def handle_data(self, data):
        for element in self._open:
            element["text"] += data

    def find(self, tag, **attrs):
        attrs = {name.rstrip("_"): value for name, value in attrs.items()}
        return [e for e in self.elements if e["tag"] == tag and attrs.items() <= e["attrs"].items()]

    def texts(self, tag, **attrs):
        return [e["text"] for e in self.find(tag, **attrs)]
