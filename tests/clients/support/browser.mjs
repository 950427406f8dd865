// A headless Chromium that records what pages do.

import puppeteer from 'puppeteer-core';

export function launch() {
    return puppeteer.launch({
        executablePath: process.env.PETSTORE_CHROMIUM ?? '/usr/bin/chromium-headless-shell',
        headless: 'shell',
        args: [
            // The sandbox needs user namespaces, which containers lack. Only
            // our own pages are opened.
            '--no-sandbox',
            '--disable-dev-shm-usage',
            '--disable-gpu',
        ],
        protocolTimeout: 120_000,
    });
}

// Opens a page in a separate profile. page.seen records what happens in it:
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
            // For an Error, text() is only "JSHandle@error".
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

// The requests to other origins. A data: URL does not count.
export function foreign(page, origin) {
    return page.seen.requests.map(({ url }) => url)
        .filter((url) => !url.startsWith(`${origin}/`)
            && !url.startsWith('data:'));
}
