// A server that sends a list of responses, one after the other.

import http from 'node:http';

// Each response is { status, headers, body }, or null to break the connection.
// `requests` records the requests: { method, url, headers, body }.
export async function startStub(responses) {
    const requests = [];
    const queue = [...responses];
    const server = http.createServer(async (request, response) => {
        let body = '';
        for await (const piece of request) {
            body += piece;
        }
        const { method, url, headers } = request;
        requests.push({ method, url, headers, body });
        const next = queue.shift();
        if (!next) {
            request.socket.destroy();
            return;
        }
        response.writeHead(next.status,
            { 'Content-Type': 'application/json', ...next.headers });
        response.end(typeof next.body === 'string' ? next.body
            : JSON.stringify(next.body));
    });
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
    return {
        url: `http://127.0.0.1:${server.address().port}`,
        requests,
        left: () => queue.length,
        stop() {
            server.closeAllConnections();
            return new Promise((resolve) => server.close(resolve));
        },
    };
}

export function refusal(status, code, retryAfter) {
    return {
        status,
        headers: retryAfter === undefined ? {}
            : { 'Retry-After': String(retryAfter) },
        body: { code, message: `This is ${code}.`, status },
    };
}
