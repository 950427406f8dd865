// A headless Chromium, and what a page did in it.

import puppeteer from 'puppeteer-core';

export function launch() {
    return puppeteer.launch({
        executablePath: process.env.PETSTORE_CHROMIUM ?? '/usr/bin/chromium',
        headless: true,
        args: [
            // Needs user namespaces, which containers lack. It opens only our
            // own pages.
            '--no-sandbox',
            '--disable-dev-shm-usage',
            '--disable-gpu',
        ],
        protocolTimeout: 120_000,
    });
}

// A new page in a profile of its own. page.seen has what happened in it:
//   problems   errors on the console, exceptions, violations of the
//              Content-Security-Policy
//   requests   { method, url, headers } of each request
export async function openPage(browser, { scheme = 'light', width = 1200 } = {}) {
    const context = await browser.createBrowserContext();
    const page = await context.newPage();
    page.setDefaultTimeout(60_000);
    page.seen = { problems: [], requests: [] };
    await page.setViewport({ width, height: 900 });
    await page.emulateMediaFeatures(
        [{ name: 'prefers-color-scheme', value: scheme }]);
    page.on('console', (message) => {
        if (['error', 'warn'].includes(message.type())) {
            const at = page.seen.problems.push(message.text()) - 1;
            // The text of an Error is only "JSHandle@error".
            for (const argument of message.args()) {
                argument.evaluate((value) => String(value)).then((text) => {
                    page.seen.problems[at] = text;
                }, () => {});
            }
        }
    });
    page.on('pageerror', (error) => page.seen.problems.push(String(error)));
    page.on('request', (request) => page.seen.requests.push({
        method: request.method(),
        url: request.url(),
        headers: request.headers(),
    }));
    await page.exposeFunction('reportViolation',
        (text) => page.seen.problems.push(text));
    await page.evaluateOnNewDocument(() => {
        addEventListener('securitypolicyviolation', ({ violatedDirective,
            blockedURI }) => window.reportViolation(
            `Content-Security-Policy: ${violatedDirective} ${blockedURI}`));
    });
    return page;
}

// The requests to other origins than this one. A data: URL is none.
export function foreign(page, origin) {
    return page.seen.requests.map(({ url }) => url)
        .filter((url) => !url.startsWith(`${origin}/`)
            && !url.startsWith('data:'));
}
