// The instruments inside the page: frame gaps, the moment something can be seen, key to DOM, scrolling. The application under
// test supplies `window.__app`.

(() => {
  const probe = (window.__probe = { gaps: [], keys: [], lastKey: 0, lastEnter: 0 });

  // Gaps between animation frames, from 34 ms: two frames.
  let last = performance.now();
  const tick = () => {
    const now = performance.now();
    if (now - last > 34) probe.gaps.push([last, now - last]);
    last = now;
    requestAnimationFrame(tick);
  };
  requestAnimationFrame(tick);
  probe.worstGap = (since) =>
    Math.max(0, performance.now() - last, ...probe.gaps.filter(([at, gap]) => at + gap > since).map(([, gap]) => gap));

  window.addEventListener(
    "keydown",
    (event) => {
      if (event.key.length === 1 || event.key === "Enter") probe.lastKey = event.timeStamp;
      if (event.key === "Enter") probe.lastEnter = event.timeStamp;
    },
    true,
  );

  /** The first time a condition holds: looked at on every frame and, unless told not to, on every change of the page. */
  probe.when = (condition, timeout = 90_000, mutations = true) =>
    new Promise((resolve, reject) => {
      let over = false;
      const end = performance.now() + timeout;
      const observer = new MutationObserver(() => look());
      const finish = (settle) => {
        over = true;
        observer.disconnect();
        settle();
      };
      const look = () => {
        if (over) return;
        let holds = false;
        try {
          holds = condition();
        } catch {
          // not there yet
        }
        if (holds) finish(() => resolve(performance.now()));
        else if (performance.now() > end)
          finish(() => reject(new Error(`not so after ${timeout / 1000} s: ${condition}`)));
      };
      if (mutations) {
        const all = { subtree: true, childList: true, characterData: true, attributes: true };
        observer.observe(document.documentElement, all);
      }
      const frame = () => {
        look();
        if (!over) requestAnimationFrame(frame);
      };
      frame();
    });

  /** The moment after the next frame was handed to the compositor. */
  probe.painted = () =>
    new Promise((resolve) =>
      requestAnimationFrame(() => {
        const channel = new MessageChannel();
        channel.port1.onmessage = () => resolve(performance.now());
        channel.port2.postMessage(0);
      }),
    );

  /** When the page began to answer without a gap over 100 ms for so long. */
  probe.quiet = async (quiet = 1000, timeout = 90_000) => {
    let since = performance.now();
    let before = since;
    const end = since + timeout;
    for (;;) {
      const now = await probe.painted();
      if (now - before > 100) since = now;
      before = now;
      if (now - since >= quiet) return since;
      if (now > end) throw new Error("the page never came to rest");
    }
  };

  /** The last characters of a subtree, without building the whole text. */
  probe.tail = (node, length = 200) => {
    let text = "";
    const walk = (at) => {
      if (at.nodeType === Node.TEXT_NODE) text = at.data.slice(-length) + text;
      else for (let child = at.lastChild; child && text.length < length; child = child.previousSibling) walk(child);
    };
    if (node) walk(node);
    return text.slice(-length);
  };

  /** Whether the middle of an element's first line can be seen and is not covered. */
  probe.isVisible = (node) => {
    const box = node?.getBoundingClientRect();
    if (!box || box.height < 10 || box.width < 10) return false;
    const top = document.elementFromPoint(box.x + box.width / 2, box.y + 12);
    return top !== null && node.contains(top);
  };

  /** From now on every character key adds [ms to the changed DOM, ms to the painted frame] to `keys`. */
  probe.watchTyping = () => {
    const editor = document.activeElement;
    let pending = 0;
    probe.keys = [];
    const key = (event) => {
      if (event.key.length === 1) pending = event.timeStamp;
    };
    window.addEventListener("keydown", key, true);
    new MutationObserver(() => {
      if (pending === 0) return;
      const [pressed, shown] = [pending, performance.now()];
      pending = 0;
      void probe.painted().then((painted) => probe.keys.push([shown - pressed, painted - pressed]));
    }).observe(editor, { subtree: true, childList: true, characterData: true });
  };

  /** Scrolls to the end at a fixed distance a frame. */
  probe.scroll = async (element, step, timeout) => {
    const began = performance.now();
    element.scrollTop = 0;
    await probe.painted();
    const heightAtStart = element.scrollHeight;
    let worst = 0;
    let frames = 0;
    let before = performance.now();
    for (;;) {
      const at = element.scrollTop;
      element.scrollTop = at + step;
      const now = await new Promise((resolve) => requestAnimationFrame(() => resolve(performance.now())));
      frames++;
      worst = Math.max(worst, now - before);
      before = now;
      const reached = element.scrollTop + element.clientHeight >= element.scrollHeight - 2;
      if ((reached && element.scrollTop === at) || now - began > timeout) {
        return { worst, frames, reached, heightAtStart, heightAtEnd: element.scrollHeight };
      }
    }
  };
})();
