// Looks at all text of a page, and finds what has too little contrast to what is behind it.

import PlugboardClient

/// What is run in the page.
enum ContrastAudit {
    /// What the guidelines for accessible pages ask for (WCAG 2, AA).
    static let least = 4.5

    /// Texts with less contrast than that, each with its colours; empty if there are none. Besides the page as it is,
    /// it looks at it with each state, outcome and colour of a client that an element may have, at the first moment
    /// of each animation.
    static func failures(_ tab: Tab) throws -> String {
        try tab.run(script).string ?? "no answer"
    }

    private static let script = #"""
        const dot = new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true });
        const seen = new Map();
        const rgba = (text) => {
          if (!seen.has(text)) {
            dot.clearRect(0, 0, 1, 1);
            dot.fillStyle = text;
            dot.fillRect(0, 0, 1, 1);
            const [r, g, b, a] = dot.getImageData(0, 0, 1, 1).data;
            seen.set(text, [r, g, b, a / 255]);
          }
          return seen.get(text);
        };
        const over = (top, below) => [0, 1, 2].map((at) => top[at] * top[3] + below[at] * (1 - top[3])).concat(1);
        const behind = (element) => {
          if (element === null) return rgba('Canvas');
          const own = rgba(getComputedStyle(element).backgroundColor);
          return own[3] === 1 ? own : over(own, behind(element.parentElement));
        };
        const opacity = (element) => element === null ? 1
          : Number(getComputedStyle(element).opacity) * opacity(element.parentElement);
        const light = (colour) => {
          const [r, g, b] = colour.map((part) => part / 255)
            .map((part) => (part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
          return 0.2126 * r + 0.7152 * g + 0.0722 * b;
        };
        const contrast = (one, other) => {
          const [low, high] = [light(one), light(other)].sort((a, b) => a - b);
          return (high + 0.05) / (low + 0.05);
        };
        const found = new Set();
        let count = 0;
        const check = (element, text, colour) => {
          if (!element.checkVisibility({ visibilityProperty: true })) return;
          const back = behind(element);
          const [r, g, b, a] = rgba(colour);
          const front = over([r, g, b, a * opacity(element)], back);
          const ratio = contrast(front, back);
          count += 1;
          if (ratio >= LEAST) return;
          const name = `${element.localName}.${element.getAttribute('class')}`;
          const { op, state, outcome } = element.dataset;
          found.add(`${name} ${op ?? state ?? outcome ?? ''} "${text.slice(0, 30)}" ${ratio.toFixed(2)} `
            + `${front.map(Math.round)} on ${back.map(Math.round)}`);
        };
        const look = () => {
          const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
          while (texts.nextNode()) {
            const [text, element] = [texts.currentNode.data.trim(), texts.currentNode.parentElement];
            const style = getComputedStyle(element);
            if (text !== '') check(element, text, element.ownerSVGElement ? style.fill : style.color);
          }
          for (const field of document.querySelectorAll('input, textarea, select')) {
            check(field, field.value, getComputedStyle(field).color);
            if (field.placeholder) check(field, field.placeholder, getComputedStyle(field, '::placeholder').color);
          }
        };
        const variants = {
          state: 'live lagging paused running waiting broken stopped idle ended well degraded down gone'.split(' '),
          outcome: 'sent queued conflated paused dropped failed answered asked held waiting'.split(' '),
          op: 'publish patch add emit delete call'.split(' '),
        };
        for (const animation of document.getAnimations()) {
          animation.pause();
          animation.currentTime = 0;
        }
        look();
        for (const [name, values] of Object.entries(variants)) {
          for (const value of values) {
            for (const element of document.querySelectorAll(`[data-${name}]`)) element.dataset[name] = value;
            look();
          }
        }
        for (const number of Array(10).keys()) {
          for (const element of document.querySelectorAll('[style*="--own"]')) {
            element.style.setProperty('--own', `var(--c${number})`);
          }
          look();
        }
        for (const animation of document.getAnimations()) animation.finish();
        return count < 100 ? `only ${count} texts` : [...found].join('\n');
        """#.replacing("LEAST", with: "\(least)")
}
