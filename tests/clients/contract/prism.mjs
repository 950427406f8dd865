// Prism as a proxy in front of a server. It checks each exchange against a
// document.

import fs from 'node:fs';
import path from 'node:path';

import { address, freePort, root, Server } from '../support/store.mjs';

// Writes the document to `file`. `options` are those of "prism proxy".
export async function startPrism(document, upstream, file, options = []) {
    fs.writeFileSync(file, JSON.stringify(document));
    const port = await freePort();
    const server = new Server(path.dirname(file), process.execPath,
        [path.join(root, 'tests/clients/node_modules/.bin/prism'), 'proxy',
            '--host', address, '--port', String(port), ...options, file, upstream]);
    await server.listens(port);
    return {
        url: `http://${address}:${port}`,
        stop: () => server.end('SIGTERM'),
    };
}

// Prism's complaint about a response as text, or nothing.
export async function violation(response) {
    const header = response.headers.get('sl-violations');
    if (header) {
        return header;
    }
    const type = response.headers.get('content-type') ?? '';
    return type.startsWith('application/problem+json')
        ? response.clone().text() : undefined;
}
