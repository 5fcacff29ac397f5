"""Opens a report page in a headless Chromium and checks what a reader relies on.

Usage: check_page.py INDEX_HTML [--chromium PATH] [--screenshots FOLDER]

Needs the Python package playwright; the browser is the system's own.
"""

import argparse
import pathlib
import shutil
import sys

from playwright.sync_api import sync_playwright

DESKTOP = {"width": 1280, "height": 900}
PHONE = {"width": 375, "height": 812}

# The lowest contrast of any visible text with the background behind it.
CONTRAST = """() => {
  const parse = (color) => (color.match(/[\\d.]+/g) || []).map(Number);
  const light = ([r, g, b]) => {
    const linear = [r, g, b].map((c) => c / 255).map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
  };
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      if (at.classList.contains("node")) return parse(getComputedStyle(at.querySelector(".box")).fill);
      const color = parse(getComputedStyle(at).backgroundColor);
      if (color.length === 3 || color[3] > 0) return color;
    }
    return [255, 255, 255];
  };
  let worst = { ratio: 99 };
  for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
    if (!own || ["SCRIPT", "STYLE", "title"].includes(element.tagName) || !element.checkVisibility()) continue;
    const style = getComputedStyle(element);
    const color = parse(element instanceof SVGElement ? style.fill : style.color);
    const [a, b] = [light(color), light(behind(element))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < worst.ratio) worst = { ratio, text: element.textContent.trim().slice(0, 40), tag: element.tagName };
  }
  return worst;
}"""

WIDER_THAN_THE_WINDOW = "() => document.documentElement.scrollWidth - window.innerWidth"
UNDECODED = """async () => {
  const lost = [];
  for (const image of document.images) {
    try { await image.decode(); } catch { lost.push(image.alt); }
    if (!image.naturalWidth) lost.push(image.alt);
  }
  return lost;
}"""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("page", type=pathlib.Path)
    parser.add_argument("--chromium", default=shutil.which("chromium") or shutil.which("chromium-browser"))
    parser.add_argument("--screenshots", type=pathlib.Path)
    arguments = parser.parse_args()
    address = arguments.page.resolve().as_uri()
    wrong = []

    def expect(holds, sentence):
        print(("ok    " if holds else "WRONG ") + sentence)
        if not holds:
            wrong.append(sentence)

    def shoot(page, name, **options):
        if arguments.screenshots:
            arguments.screenshots.mkdir(parents=True, exist_ok=True)
            page.screenshot(path=arguments.screenshots / f"{name}.png", **options)

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=arguments.chromium, args=["--no-sandbox"])
        said, asked = [], []

        def opened(**options):
            context = browser.new_context(reduced_motion="reduce", **options)
            page = context.new_page()
            page.on("console", lambda message: said.append(message.text) if message.type in ("error", "warning") else None)
            page.on("pageerror", lambda error: said.append(str(error)))
            page.on("request", lambda request: asked.append(request.url))
            page.goto(address)
            # A picture that is decoded late moves everything below it.
            page.wait_for_function("() => [...document.images].every((image) => image.complete)")
            return page

        page = opened(viewport=DESKTOP)
        expect(not page.evaluate(UNDECODED), "every image is decoded")
        shoot(page, "desktop", full_page=True)
        nodes = page.locator(".node")
        count = nodes.count()
        expect(count > 0, f"the graph has boxes ({count})")
        panel = page.locator("#panel")
        nodes.first.click()
        expect(panel.is_visible(), "a click on a box opens the panel")
        expect(page.locator("#panel-facts pre").count() > 0, "the panel shows settings")
        page.locator("#panel-close").click()
        expect(not panel.is_visible(), "its button closes the panel")
        busiest = max(range(count), key=lambda at: page.evaluate(
            "(at) => JSON.parse(document.getElementById('facts').textContent).families[at].members.length", at))
        nodes.nth(busiest).focus()
        page.keyboard.press("Enter")
        expect(panel.is_visible(), "Enter on a box opens the panel")
        members = page.locator("#panel-members button")
        if members.count() > 1:
            members.nth(1).focus()
            page.keyboard.press("Enter")
            name = members.nth(1).locator("span").inner_text()
            expect(page.locator("#panel-facts h3").inner_text() == name, "choosing a member shows it")
            page.locator("#panel-filter").fill("no stage has this name")
            expect(page.locator("#panel-members button").count() == 0, "the filter filters")
            page.locator("#panel-filter").fill("")
        shoot(page, "panel")
        if page.locator("#panel-filter").is_visible():
            page.locator("#panel-members button").first.focus()
        page.keyboard.press("Escape")
        expect(not panel.is_visible(), "Escape closes the panel")
        focused = page.evaluate("() => document.activeElement.dataset.family")
        expect(focused == str(busiest), "the focus returns to the box")
        reached = 0
        page.evaluate("() => document.activeElement.blur()")
        stops = page.evaluate("() => document.querySelectorAll('a, button, input, summary, [tabindex]').length")
        for _ in range(stops):
            page.keyboard.press("Tab")
            reached += page.evaluate("() => document.activeElement.classList.contains('node')")
        expect(reached >= count, "every box is reached with the Tab key")
        light = page.evaluate(CONTRAST)
        expect(light["ratio"] >= 4.5, f"text stands out in light colors (worst {light})")
        background = "() => getComputedStyle(document.body).backgroundColor"
        bright = page.evaluate(background)

        dark = opened(viewport=DESKTOP, color_scheme="dark")
        expect(dark.evaluate(background) != bright, "dark mode has another background")
        worst = dark.evaluate(CONTRAST)
        expect(worst["ratio"] >= 4.5, f"text stands out in dark colors (worst {worst})")
        shoot(dark, "dark", full_page=True)
        dark.locator(".node").nth(busiest).click()
        worst = dark.evaluate(CONTRAST)
        expect(worst["ratio"] >= 4.5, f"text stands out in the dark panel (worst {worst})")

        phone = opened(viewport=PHONE, device_scale_factor=2, is_mobile=True, has_touch=True)
        expect(phone.evaluate(WIDER_THAN_THE_WINDOW) <= 0, "a phone needs no sideways scrolling")
        shoot(phone, "phone", full_page=True)
        phone.locator(".node").nth(busiest).tap()
        expect(phone.locator("#panel").is_visible(), "a tap on a box opens the panel")
        expect(phone.evaluate(WIDER_THAN_THE_WINDOW) <= 0, "nor does the panel")
        shoot(phone, "phone-panel")

        printed = opened(viewport=DESKTOP)
        printed.emulate_media(media="print")
        expect(printed.locator("h1").is_visible() and not printed.locator("nav").is_visible(), "print leaves the links out")

        outside = [url for url in asked if not url.startswith(("file:", "data:"))]
        expect(not said, f"the console is silent {said[:3]}")
        expect(not outside, f"nothing is asked of the network {outside[:3]}")
        files = {url.split("#")[0] for url in asked if url.startswith("file:")}
        expect(files == {address}, "no other file is read")
        browser.close()
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
