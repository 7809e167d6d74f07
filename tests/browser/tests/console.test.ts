// A browser's console stays empty: what it says there is a fault, or hides one.

import { expect, test } from "../src/test.ts";

const OUTPUTS =
  "from IPython.display import HTML, SVG, display\n" +
  "display(HTML('<b>framed</b><script>1</script>'), SVG('<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"9\" height=\"9\"/>'))\n" +
  "import matplotlib.pyplot as plt\nplt.plot([1, 3, 2])\nplt.show()";

test("neither the page nor an output makes the browser complain", async ({ open, page }) => {
  const said: string[] = [];
  page.on("console", (message) => said.push(`${message.type()}: ${message.text()}`));
  page.on("pageerror", (error) => said.push(String(error)));
  await open([OUTPUTS]);
  const cell = page.locator("article.cell").first();
  await cell.locator(".cell__gutter").click();
  await page.keyboard.press("Control+Enter");
  await expect(cell.locator("iframe")).toHaveCount(2);
  await expect(cell.frameLocator("iframe").first().getByText("framed")).toBeVisible();
  await expect(cell.locator("img.fig")).toBeVisible();
  expect(said).toEqual([]);
});

// Its outputs are not sent the directive because of that. Once it knows it, this fails: then it has to be sent.
test("Chromium does not know the policy's directive for WebRTC", async ({ page }) => {
  const said: string[] = [];
  page.on("console", (message) => said.push(message.text()));
  const headers = { "content-security-policy": "webrtc 'block'", "content-type": "text/html" };
  await page.route("http://policy.test/", (route) => route.fulfill({ headers, body: "<p>x</p>" }));
  await page.goto("http://policy.test/");
  await expect.poll(() => said.join()).toContain("Unrecognized Content-Security-Policy directive 'webrtc'");
});
