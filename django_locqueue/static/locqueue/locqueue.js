// Keeps parts of a page as the server has them now: elements with data-lq-live, their seconds. Works by fetching the page
// and taking over its parts; without it everything is there, and reloading the page does the same.
(() => {
  "use strict";
  const IDLE_MS = 30 * 60 * 1000; // without input: an open tab must not keep a session alive for ever
  let lastInput = Date.now();
  let took = 0;
  for (const kind of ["pointerdown", "keydown", "scroll"]) {
    addEventListener(kind, () => { lastInput = Date.now(); }, { passive: true });
  }

  const live = (page) => [...page.querySelectorAll("[data-lq-live]")];

  // Whatever a person is about to do there, the refresh waits for it.
  const inUse = (part) =>
    part.contains(document.activeElement) || part.querySelector("input:checked") !== null || !getSelection().isCollapsed;

  const refresh = async () => {
    const began = performance.now();
    const response = await fetch(location.href, { credentials: "same-origin", redirect: "manual" });
    took = performance.now() - began;
    if (!response.ok) return false; // signed out, or gone
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    const parts = live(document);
    const fresh = live(page);
    if (fresh.length !== parts.length) {
      location.reload(); // it has ended: the rest of the page changed too
      return false;
    }
    parts.forEach((part, number) => {
      if (!inUse(part) && part.innerHTML !== fresh[number].innerHTML) part.replaceWith(document.importNode(fresh[number], true));
    });
    return true;
  };

  const wait = () => {
    const [part] = live(document);
    if (!part) return;
    setTimeout(async () => {
      const rests = document.hidden || Date.now() - lastInput > IDLE_MS || live(document).some(inUse);
      let goesOn = true;
      if (!rests) {
        try {
          goesOn = await refresh();
        } catch {
          // The server is away for a moment.
        }
      }
      if (goesOn) wait();
    }, Math.max(Number(part.dataset.lqLive) * 1000, 10 * took));
  };

  wait();
})();

// Buttons that copy the text of another part of the page. Without a script they are not there.
(() => {
  "use strict";
  const copy = async (button) => {
    const part = document.getElementById(button.dataset.lqCopy);
    try {
      await navigator.clipboard.writeText(part.textContent.trim());
      const word = button.textContent;
      button.textContent = button.dataset.lqCopied;
      setTimeout(() => { button.textContent = word; }, 2000);
    } catch {
      getSelection().selectAllChildren(part); // browsers give the clipboard to HTTPS only
    }
  };
  for (const button of document.querySelectorAll("[data-lq-copy]")) {
    button.hidden = false;
    button.addEventListener("click", () => copy(button));
  }
})();
