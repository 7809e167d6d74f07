// Drives web mode in Debian's Chromium, against the real owner process and real kernels.

import { defineConfig } from "@playwright/test";

export default defineConfig({
  testDir: "tests",
  outputDir: "test-results",
  forbidOnly: true,
  // The gate tries once more what failed, and says so; by hand and in long runs a failure is one at once.
  retries: Number(process.env["SANDBOOK_TEST_RETRIES"] ?? 0),
  // Each test starts an owner and a kernel of its own; two cores carry no more.
  workers: 2,
  timeout: 120_000,
  expect: { timeout: 30_000 },
  use: {
    viewport: { width: 1280, height: 860 },
    screenshot: "only-on-failure",
    trace: "retain-on-failure",
    launchOptions: {
      executablePath: process.env["SANDBOOK_TEST_CHROMIUM"] ?? "/usr/bin/chromium",
      // Root has no other way to start it. The rest keeps it from looking for hosts that are none of its business.
      args: ["--no-sandbox", "--disable-quic", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
    },
  },
});
