#!/usr/bin/env python3
"""The page of `consort report` in headless Chromium, from the file system and without a network.

In light, dark and at a phone's width: no console error, no request, no horizontal scroll, text that stands out (WCAG AA).
Clicks, keys, search, zoom and selection do what they say. Left out, in one line, where Chromium is missing.
report_page.py CONSORT TRACE [--shots FOLDER] [--time]   --shots: pictures; --time: first picture and frames a second"""
import base64
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'checks'))
from docs_site import Browser  # noqa: E402

STATE = '''(() => ({
  window: document.getElementById('window').textContent, card: document.getElementById('card').hidden ? '' : document.getElementById('card').innerText,
  found: document.getElementById('found').textContent, tip: document.getElementById('tip').hidden ? '' : document.getElementById('tip').innerText,
  findings: [...document.querySelectorAll('.finding h3')].map(e => e.innerText),
  over: document.scrollingElement.scrollWidth - document.scrollingElement.clientWidth,
  ink: (() => { const c = document.getElementById('gantt'), d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data, s = new Set();
    for (let i = 0; i < d.length; i += 4 * 97) s.add(d[i] << 16 | d[i + 1] << 8 | d[i + 2]); return s.size; })()}))()'''
# Each visible text with the colours that it is painted in, where its own background or that of a parent is known.
TEXTS = '''(() => {
  const out = [];
  for (const e of document.querySelectorAll('h1,h2,h3,p,th,td,dt,dd,button,span,footer,input,output')) {
    if (!e.offsetParent || ![...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim())) continue;
    let g = e;
    while (g && /, 0\\)$|transparent/.test(getComputedStyle(g).backgroundColor)) g = g.parentElement;
    out.push([getComputedStyle(e).color, g ? getComputedStyle(g).backgroundColor : 'rgb(255, 255, 255)', e.textContent.trim().slice(0, 40)]);
  }
  return out;
})()'''
WIDE = 1280


def brightness(colour):
    parts = [float(x) / 255 for x in re.findall(r'[\d.]+', colour)[:3]]
    r, g, b = (c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def contrast(a, b):
    light, dark = sorted((brightness(a), brightness(b)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


class Page:
    def __init__(self, browser, path, shots):
        self.browser, self.url, self.shots, self.faults = browser, path.as_uri(), shots, []

    def fail(self, what):
        self.faults.append(what)

    def expect(self, right, what):
        if not right:
            self.fail(what)

    def open(self, width, dark):
        self.browser.call('Emulation.setEmulatedMedia', features=[{'name': 'prefers-color-scheme', 'value': 'dark' if dark else 'light'}])
        self.browser.call('Emulation.setDeviceMetricsOverride', width=width, height=900, deviceScaleFactor=1, mobile=width < 600)
        self.browser.open(self.url)
        self.settle()

    def settle(self):
        self.browser.value('new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))')

    def state(self):
        self.settle()
        return self.browser.value(STATE)

    def key(self, key, text=None):
        self.browser.call('Input.dispatchKeyEvent', type='keyDown', key=key, **({'text': text} if text else {}))
        self.browser.call('Input.dispatchKeyEvent', type='keyUp', key=key)

    def mouse(self, what, x, y, **more):
        self.browser.call('Input.dispatchMouseEvent', type=what, x=x, y=y, **more)

    def click(self, x, y, modifiers=0):
        self.mouse('mousePressed', x, y, button='left', clickCount=1, modifiers=modifiers)
        self.mouse('mouseReleased', x, y, button='left', clickCount=1, modifiers=modifiers)

    def press(self, element):
        self.browser.value(f'document.getElementById("{element}").click()')

    def shot(self, name):
        if self.shots:
            got = self.browser.call('Page.captureScreenshot', captureBeyondViewport=True)
            (self.shots / f'{name}.png').write_bytes(base64.b64decode(got['data']))

    def looks(self, name):
        state = self.state()
        self.expect(state['over'] <= 0, f'{name}: scrolls sideways by {state["over"]} pixels')
        self.expect(state['ink'] >= 4, f'{name}: the timeline has {state["ink"]} colours')
        for colour, ground, text in self.browser.value(TEXTS):
            ratio = contrast(colour, ground)
            self.expect(ratio >= 4.5, f'{name}: "{text}" has a contrast of {ratio:.2f}: {colour} on {ground}')
        self.shot(name)
        for fault in self.browser.faults():
            self.fail(f'{name}: {fault}')

    def place(self):
        return self.browser.value('(r => [r.left, r.top, r.width, r.height])((e => (e.scrollIntoView({block: "center"}), e.getBoundingClientRect()))(document.getElementById("gantt")))')

    def walk(self):
        """Clicks, keys, search, zoom: each changes what is shown as it says."""
        whole = self.state()['window']
        self.press('in')
        near = self.state()['window']
        self.expect(near != whole, 'the button + does not zoom in')
        self.key('0')
        self.expect(self.state()['window'] == whole, 'the key 0 does not show the whole run')
        self.key('+')
        self.expect(self.state()['window'] == near or self.state()['window'] != whole, 'the key + does not zoom in')
        here = self.state()['window']
        self.key('ArrowRight')
        self.expect(self.state()['window'] != here, 'the arrow key does not move')
        self.press('fit')
        left, top, width, _ = self.place()
        x = left + 150 + (width - 150) / 2
        self.mouse('mouseWheel', x, top + 60, deltaX=0, deltaY=-200, modifiers=2)
        self.expect(self.state()['window'] != whole, 'Ctrl and the wheel do not zoom')
        here = self.state()['window']
        self.mouse('mousePressed', x, top + 60, button='left', clickCount=1)
        self.mouse('mouseMoved', x - 120, top + 60, button='left')
        self.mouse('mouseReleased', x - 120, top + 60, button='left')
        self.expect(self.state()['window'] != here, 'dragging does not move')
        self.press('fit')
        self.mouse('mousePressed', x, top + 60, button='left', clickCount=1, modifiers=8)
        self.mouse('mouseMoved', x + 100, top + 60, button='left', modifiers=8)
        self.mouse('mouseReleased', x + 100, top + 60, button='left', modifiers=8)
        self.expect(self.state()['window'] != whole, 'Shift and dragging do not zoom into a part')
        self.press('fit')
        self.tasks(whole)

    def tasks(self, whole):
        self.key('n')
        card = self.state()['card']
        self.expect('took' in card and 'worker' in card and 'began' in card, f'the key n selects no task: {card[:80]!r}')
        self.key('n')
        other = self.state()['card']
        self.expect(other and other != card, 'the key n again does not select the next task')
        if 'After' in other:
            self.expect('where from' in other or 'read' in other or 'Before' in other, f'the card has no data: {other[:200]!r}')
        self.shot('card')
        self.key('Escape')
        self.expect(not self.state()['card'], 'Escape does not close the card')
        self.press('fit')
        left, top, width, _ = self.place()
        for part in range(40):                     # a click on a lane where a task is
            self.click(left + 150 + (width - 150) * (part + 0.5) / 40, top + 30)
            if self.state()['card']:
                break
        self.expect(self.state()['card'], 'no click on the first lane selects a task')
        self.mouse('mouseMoved', left + 150 + (width - 150) * (part + 0.5) / 40, top + 31)
        self.expect(self.state()['tip'], 'there is no tip under the pointer')
        self.key('Escape')
        name = self.browser.value('document.querySelector("#codelets tbody td").innerText.trim()')
        self.key('/')
        self.browser.call('Input.insertText', text=name)
        self.expect(re.match(r'[1-9]', self.state()['found']), f'a search for {name} finds nothing: {self.state()["found"]!r}')
        self.key('Enter')
        self.expect(name in self.state()['card'], f'Enter does not select a match of {name}')
        self.shot('search')
        self.key('Escape')
        self.browser.value('document.activeElement.blur()')
        self.key('Escape')
        self.expect(not self.state()['found'], 'Escape does not clear the search')
        self.key('c')
        self.expect(self.browser.value('document.getElementById("path").getAttribute("aria-pressed")') == 'true', 'the key c does not mark the critical path')
        self.shot('path')
        self.key('c')
        before = self.browser.value('getComputedStyle(document.body).backgroundColor')
        self.press('theme')
        self.expect(self.browser.value('getComputedStyle(document.body).backgroundColor') != before, 'the button Theme changes nothing')
        self.press('keys')
        self.expect('whole run' in self.browser.value('document.getElementById("keylist").innerText'), 'the list of keys is not shown')

    def times(self):
        """First picture, and frames a second while zooming in and out."""
        self.browser.call('Emulation.setDeviceMetricsOverride', width=WIDE, height=900, deviceScaleFactor=1, mobile=False)
        begin = time.monotonic()
        self.browser.open(self.url)
        self.settle()
        first = time.monotonic() - begin
        rate = self.browser.value('''new Promise(done => { let n = 0; const begin = performance.now(), step = () => {
          if (performance.now() - begin > 3000) return done(n * 1000 / (performance.now() - begin));
          document.getElementById(n++ % 40 < 20 ? 'in' : 'out').click(); requestAnimationFrame(step); }; step(); })''')
        print(f'first picture after {first:.2f} s, {rate:.0f} frames a second while zooming')


def main():
    arguments = [a for a in sys.argv[1:] if not a.startswith('--')]
    shots = Path(arguments.pop()) if '--shots' in sys.argv else None
    if not shutil.which('chromium'):
        print('left out: chromium is missing')
        return 0
    command, trace = arguments
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / 'run.html'
        subprocess.run([command, 'report', trace, '-o', str(file)], check=True, stdout=subprocess.DEVNULL)
        browser = Browser(os.path.join(folder, 'profile'))
        try:
            page = Page(browser, file, shots)
            if '--time' in sys.argv:
                page.times()
                return 0
            for name, width, dark in (('light', WIDE, False), ('dark', WIDE, True), ('phone', 360, False), ('phone-dark', 360, True)):
                page.open(width, dark)
                page.looks(name)
            page.open(WIDE, False)
            page.walk()
            page.faults += [f'after the walk: {f}' for f in browser.faults()]
        finally:
            browser.close()
    for fault in page.faults:
        print(fault)
    return 1 if page.faults else 0


if __name__ == '__main__':
    sys.exit(main())
