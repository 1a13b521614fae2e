"""The navigation tree of a page, in the theme's markup. The theme resolves the tree of all pages anew for each page,
which takes two thirds of the time of a build; this reads it once."""
from html import escape

from sphinx import addnodes

ARROW = ('<div class="visually-hidden">Toggle child pages in navigation</div>'
         '<i class="icon"><svg><use href="#svg-arrow-right"></use></svg></i>')


class Navigation:
    """Groups of pages: (caption, pages), a page being (title, name, pages below it)."""

    def __init__(self, app):
        self.env, self.builder = app.env, app.builder
        self.groups = [(tree.get('caption'), self.pages(tree)) for tree in self.trees(app.config.root_doc)]

    def trees(self, page):
        return self.env.get_doctree(page).findall(addnodes.toctree)

    def pages(self, tree):
        return [(title or self.env.titles[page].astext(), page, self.below(page)) for title, page in tree['entries']]

    def below(self, page):
        if page not in self.env.toctree_includes:
            return []
        return [entry for tree in self.trees(page) for entry in self.pages(tree)]

    def html(self, page):
        """The tree as HTML, its links relative to that page, the way to the page open."""
        self.count = 0
        parts = []
        for caption, pages in self.groups:
            if caption:
                words = f'<span class="caption-text">{escape(caption)}</span>'
                parts.append(f'<p class="caption" role="heading">{words}</p>')
            parts.append(self.list(pages, page, 1)[0])
        return '\n'.join(parts)

    def list(self, pages, page, level):
        rows, here = [], False
        for title, name, below in pages:
            inner, inside = self.list(below, page, level + 1) if below else ('', False)
            current = inside or name == page
            here |= current
            classes = f'toctree-l{level}' + ' current' * current
            classes += ' has-children' * bool(below) + ' current-page' * (name == page)
            href = '#' if name == page else self.builder.get_relative_uri(page, name)
            if below:
                self.count += 1
                box = f'toctree-checkbox-{self.count}'
                inner = (f'<input class="toctree-checkbox" id="{box}" name="{box}" role="switch" type="checkbox"'
                         f'{" checked" * current}>'
                         f'<label for="{box}">{ARROW}</label>{inner}')
            rows.append(f'<li class="{classes}"><a class="reference internal{" current" * current}" href="{href}">'
                        f'{escape(title)}</a>{inner}</li>')
        return f'<ul{" class=current" * here}>\n' + '\n'.join(rows) + '\n</ul>', here
