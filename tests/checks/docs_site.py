#!/usr/bin/env python3
"""The documentation as a site (./run docs) in headless Chromium, from the file system and without a network.

On each page: no console error, no request that leaves the file system, each link and anchor leads to a file and an
element, no horizontal scroll at 360 and at 1280 pixels. The search finds names, words of guides and commands, and a
result opens at its place. Dark and light follow prefers-color-scheme, with text that stands out. Left out, in one
line, where Chromium or the generator is missing. docs_site.py [--keep]   --keep: checks build/docs as it is"""
import json
import os
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import unquote, urldefrag

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / 'build/docs'
NEEDS = ('doxygen', 'sphinx-build', 'chromium')
LOOK = '''(() => ({
  links: [...document.querySelectorAll('a[href]')].map(a => a.href),
  ids: [...document.querySelectorAll('[id]')].map(e => e.id),
  pictures: [...document.images].filter(i => i.src && !i.complete || i.naturalWidth === 0).map(i => i.src),
  title: document.title, heads: document.querySelectorAll('h1').length,
  over: document.scrollingElement.scrollWidth - document.scrollingElement.clientWidth}))()'''
PAINT = '''(e => {
  if (!e) return null;
  let g = e;
  while (g && /, 0\\)$/.test(getComputedStyle(g).backgroundColor)) g = g.parentElement;
  return [getComputedStyle(e).color, g ? getComputedStyle(g).backgroundColor : ''];
})'''
OPENED = '''({url: location.href, text: document.body.innerText,
  there: !location.hash || !!document.getElementById(decodeURIComponent(location.hash.slice(1)))})'''
SEARCHES = [  # the page that is searched from, the query, what the opened page's address and text must contain
    ('index', 'consort_submit', 'reference/consort.h.html#consort_submit', 'consort_submit'),
    ('reference/cpp-task.hpp', 'consort_stop()', 'reference/consort.h.html#consort_stop', 'consort_stop'),
    ('man/consort-topo', 'consort_scheduler_ops', 'scheduler.h.html#consort_scheduler_ops', 'consort_scheduler_ops'),
    ('index', 'Runtime::vector', 'reference/', 'vector'),
    ('schedulers', 'prefetch', '', 'prefetch'),
    ('memory', 'why-not', 'man/consort-why-not.html', 'why-not'),
    ('plugins/schedulers/lws', 'heteroprio', 'plugins/schedulers/heteroprio.html', 'heteroprio'),
]


class Browser:
    """Chromium, driven through its DevTools protocol over two pipes."""

    def __init__(self, profile):
        reads, self.out = os.pipe()
        self.into, writes = os.pipe()
        flags = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-sync',
                 '--disable-component-update', '--no-first-run', '--disable-extensions', '--disable-dev-shm-usage',
                 '--host-resolver-rules=MAP * ~NOTFOUND',
                 f'--user-data-dir={profile}', '--remote-debugging-pipe', 'about:blank']
        self.process = subprocess.Popen(['sh', '-c', f'exec chromium "$@" 3<&{reads} 4>&{writes}', 'chromium', *flags],
                                        pass_fds=(reads, writes), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(reads)
        os.close(writes)
        self.number, self.buffer, self.events, self.session = 0, b'', [], None
        target = self.call('Target.createTarget', url='about:blank')['targetId']
        self.session = self.call('Target.attachToTarget', targetId=target, flatten=True)['sessionId']
        for domain in ('Page', 'Runtime', 'Log', 'Network'):
            self.call(f'{domain}.enable')

    def message(self, until):
        while b'\0' not in self.buffer:
            if not select.select([self.into], [], [], max(0, until - time.monotonic()))[0]:
                raise TimeoutError('Chromium does not answer')
            more = os.read(self.into, 1 << 20)
            if not more:
                raise EOFError('Chromium ended')
            self.buffer += more
        one, self.buffer = self.buffer.split(b'\0', 1)
        return json.loads(one)

    def call(self, method, **params):
        self.number += 1
        head = {'id': self.number, 'method': method, 'params': params}
        if self.session:
            head['sessionId'] = self.session
        os.write(self.out, json.dumps(head).encode() + b'\0')
        until = time.monotonic() + 60
        while True:
            got = self.message(until)
            if got.get('id') == self.number:
                if 'error' in got:
                    raise RuntimeError(f'{method}: {got["error"]}')
                return got['result']
            self.events.append(got)

    def value(self, expression):
        result = self.call('Runtime.evaluate', expression=expression, returnByValue=True, awaitPromise=True)
        if 'exceptionDetails' in result:
            raise RuntimeError(str(result['exceptionDetails']))
        return result['result'].get('value')

    def wait(self, expression, what):
        until = time.monotonic() + 20
        while not self.value(expression):
            if time.monotonic() > until:
                raise TimeoutError(what)
            time.sleep(0.02)

    def open(self, url):
        self.events = []
        self.call('Page.navigate', url=url)
        self.loaded()

    def loaded(self):
        until = time.monotonic() + 30
        while not any(e.get('method') == 'Page.loadEventFired' for e in self.events):
            self.events.append(self.message(until))

    def size(self, width):
        self.call('Emulation.setDeviceMetricsOverride', width=width, height=800, deviceScaleFactor=1, mobile=False)

    def faults(self):
        """The errors since the page was opened: exceptions, console errors, requests off the file system."""
        for event in self.events:
            method, params = event.get('method'), event.get('params', {})
            if method == 'Runtime.exceptionThrown':
                thrown = params['exceptionDetails'].get('exception', {})
                yield 'exception: ' + str(thrown.get('description', params))[:200]
            elif method == 'Runtime.consoleAPICalled' and params['type'] in ('error', 'assert'):
                yield 'console: ' + str(params['args'])[:200]
            elif method == 'Log.entryAdded' and params['entry']['level'] == 'error':
                yield f'log: {params["entry"]["text"]} {params["entry"].get("url", "")}'
            elif method == 'Network.requestWillBeSent':
                if not re.match(r'(file|data|about|blob):', params['request']['url']):
                    yield f'asks the network for {params["request"]["url"]}'

    def close(self):
        try:
            self.call('Browser.close')
        except (OSError, EOFError, RuntimeError, TimeoutError):
            self.process.kill()
        self.process.wait()


def visit(browser, wrong):
    """Opens every page; {file: its contents}."""
    seen = {}
    for file in sorted(SITE.rglob('*.html')):
        browser.size(360)
        browser.open(file.as_uri())
        look = browser.value(LOOK)
        seen[file] = look
        name = str(file.relative_to(SITE))
        wrong += [f'{name}: {fault}' for fault in browser.faults()]
        if look['over'] > 0:
            wrong.append(f'{name}: {look["over"]} pixels wider than a screen of 360')
        browser.size(1280)
        over = browser.value('document.scrollingElement.scrollWidth - document.scrollingElement.clientWidth')
        if over > 0:
            wrong.append(f'{name}: {over} pixels wider than a screen of 1280')
        if look['heads'] != 1 or not look['title'].strip():
            wrong.append(f'{name}: {look["heads"]} headings of the first level, title "{look["title"]}"')
        wrong += [f'{name}: no picture {picture}' for picture in look['pictures']]
    return seen


def links(seen, wrong):
    """Each link of each page and each row of the search leads to a file and, where it names one, to an element."""
    rows = json.loads((SITE / '_static/search-data.js').read_text().removeprefix('consortSearch(').removesuffix(');\n'))
    ids = {file: set(look['ids']) for file, look in seen.items()}
    count = 0
    todo = [(str(file.relative_to(SITE)), link) for file, look in seen.items() for link in set(look['links'])]
    todo += [('the search', f'{SITE.as_uri()}/{row[2]}') for row in rows]
    for name, link in todo:
        if not link.startswith('file:'):
            continue
        count += 1
        path, anchor = urldefrag(link)
        target = Path(unquote(path.removeprefix('file://')))
        if not target.is_relative_to(SITE):
            wrong.append(f'{name}: {link} leads out of the site')
        elif not target.is_file():
            wrong.append(f'{name}: {link} leads nowhere')
        elif anchor and target in ids and unquote(anchor) not in ids[target]:
            wrong.append(f'{name}: {link}: no such element')
    return count, len(rows)


def search(browser, wrong):
    """Types each query, opens the first result, looks whether it is there."""
    for page, query, address, text in SEARCHES:
        browser.open((SITE / f'{page}.html').as_uri())
        browser.value("document.getElementById('search-box').focus()")
        browser.call('Input.insertText', text=query)
        browser.wait("!!document.querySelector('#search-results a.chosen')", f'the search for {query} finds nothing')
        before, wrong_ = browser.value('location.href'), list(browser.faults())
        for kind in ('keyDown', 'keyUp'):
            browser.call('Input.dispatchKeyEvent', type=kind, key='Enter', code='Enter', windowsVirtualKeyCode=13,
                         text='\r' if kind == 'keyDown' else '')
        browser.wait(f'location.href !== {json.dumps(before)} && document.readyState === "complete"',
                     f'the result for {query} does not open')
        got = browser.value(OPENED)
        wrong += [f'search {query}: {fault}' for fault in [*wrong_, *browser.faults()]]
        if address not in unquote(got['url']) or text.lower() not in got['text'].lower() or not got['there']:
            wrong.append(f'search {query}: opened {got["url"]}')
    browser.open((SITE / 'index.html').as_uri())
    browser.value("document.getElementById('search-box').focus()")
    browser.call('Input.insertText', text='zzqqxx')
    shown = "document.getElementById('search-results').innerText"
    browser.wait(f'/Nothing found/.test({shown})', 'a query without a result is not answered')
    browser.value("document.getElementById('search-box').select()")
    browser.call('Input.insertText', text='coherence')
    browser.wait(f'/coherence/i.test({shown})', 'a second query is not answered')


def luminance(colour):
    parts = [int(float(c)) / 255 for c in re.findall(r'[\d.]+', colour)[:3]]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return sum(weight * p for weight, p in zip((0.2126, 0.7152, 0.0722), linear))


def colours(browser, wrong):
    """Light and dark as the system says, and a contrast of 4.5 at least for text, code and links."""
    parts = {'text': 'article p', 'code': 'article .highlight pre', 'links': 'article p a, article li a',
             'navigation': '.sidebar-tree a'}
    for scheme in ('light', 'dark'):
        browser.call('Emulation.setEmulatedMedia', features=[{'name': 'prefers-color-scheme', 'value': scheme}])
        for page in ('index', 'schedulers', 'reference/consort.h'):
            browser.open((SITE / f'{page}.html').as_uri())
            ground = browser.value('getComputedStyle(document.body).backgroundColor')
            if (luminance(ground) < 0.2) != (scheme == 'dark'):
                wrong.append(f'{page}: in {scheme} mode the ground is {ground}')
            for part, selector in parts.items():
                got = browser.value(f'{PAINT}(document.querySelector({json.dumps(selector)}))')
                if got:
                    one, two = sorted((luminance(got[0]), luminance(got[1] or ground)))
                    if (two + 0.05) / (one + 0.05) < 4.5:
                        wrong.append(f'{page}: in {scheme} mode {part} are {got[0]} on {got[1]}')
    ground = 'getComputedStyle(document.body).backgroundColor'
    browser.value("document.querySelector('.theme-toggle').click()")
    if luminance(browser.value(ground)) < 0.2:
        wrong.append('the button for the colours leaves a dark page dark')
    browser.call('Emulation.setEmulatedMedia', features=[])


def missing():
    gone = [tool for tool in NEEDS if not shutil.which(tool)]
    if 'sphinx-build' not in gone:
        python = Path(shutil.which('sphinx-build')).read_text().split('\n', 1)[0].removeprefix('#!').split()
        for module in ('furo', 'myst_parser'):
            if subprocess.run([*python, '-c', f'import {module}'], capture_output=True).returncode:
                gone.append(module)
    return gone


def main():
    if gone := missing():
        print(f'left out: no {", ".join(gone)} here')
        return 0
    if '--keep' not in sys.argv:
        built = subprocess.run([ROOT / 'docs/site/build.py'])
        if built.returncode:
            return built.returncode
    wrong = []
    with tempfile.TemporaryDirectory() as profile:
        browser = Browser(profile)
        try:
            seen = visit(browser, wrong)
            count, rows = links(seen, wrong)
            search(browser, wrong)
            colours(browser, wrong)
        except (TimeoutError, RuntimeError, EOFError) as error:
            wrong.append(str(error))
            seen, count, rows = locals().get('seen', {}), locals().get('count', 0), locals().get('rows', 0)
        finally:
            browser.close()
    print(*wrong, sep='\n', end='\n' if wrong else '')
    print(f'{len(seen)} pages, {count} links, {rows} rows of the search, {len(SEARCHES)} searches')
    print(f'{len(seen) + len(SEARCHES)} passed, {len(wrong)} failed')
    return bool(wrong)


if __name__ == '__main__':
    sys.exit(main())
