// Shows the store's OpenAPI document with Swagger UI.

const openapi = document.querySelector('meta[name=openapi]').content;

// Adds the protection of the key that Swagger UI lacks.
function careWithKeys({ React }) {
    const wrapped = (change) => (Component, system) => (props) =>
        React.createElement(Component, { ...props, ...change(props, system) });
    // The fields of the schemes apiKey and apiKeyHeader.
    const fields = ['auth-bearer-value', 'api_key_value'];
    const hidden = (scheme) => (scheme.get('type') === 'apiKey'
        ? [scheme.get('name'), '<API_KEY>']
        : ['Authorization', 'Bearer <API_KEY>']);
    return {
        wrapComponents: {
            // Browsers must neither store a key nor send it to a spell checking
            // service.
            Input: wrapped(({ id }) => ({
                autoComplete: 'off',
                spellCheck: false,
                ...(fields.includes(id) && { 'aria-label': 'API key' }),
            })),
            // Hides the key in the curl command, which people copy into tickets.
            curl: wrapped(({ request }, { specSelectors }) => ({
                request: specSelectors.securityDefinitions().toList().map(hidden)
                    .reduce((shown, [name, value]) =>
                        (shown.hasIn(['headers', name])
                            ? shown.setIn(['headers', name], value)
                            : shown), request),
            })),
            authorizationPopup: (Popup) => (props) => React.createElement('div', {
                role: 'dialog',
                'aria-modal': true,
                'aria-label': 'API key',
                onKeyDown: ({ key }) => {
                    if (key === 'Escape') {
                        document.querySelector('.close-modal').click();
                        document.querySelector('.btn.authorize').focus();
                    }
                },
            }, React.createElement(Popup, props)),
        },
    };
}

// Swagger UI fills the fields of "try it" with the examples. Leave optional
// parameters empty: the example's cursor or Idempotency-Key is not valid.
const optionalStaysEmpty = {
    statePlugins: {
        spec: {
            wrapActions: {
                updateJsonSpec: (update) => (document) => {
                    for (const parameter of
                        Object.values(document.components?.parameters ?? {})) {
                        if (!parameter.required) {
                            delete parameter.example;
                        }
                    }
                    return update(document);
                },
            },
        },
    },
};

// Swagger UI shows the button "Execute" before it has resolved the operation's
// references. If pressed then, it fails and stays disabled until a reload.
function executeOnceResolved({ React }) {
    return {
        wrapComponents: {
            execute: (Button) => (props) => React.createElement(Button, {
                ...props,
                disabled: props.disabled || props.operation.isEmpty(),
            }),
        },
    };
}

// Swagger UI repeats a table of headers for each response. Lists those of all
// responses once, below them.
function sharedHeadersOnce({ React, getComponent }) {
    return {
        wrapComponents: {
            responses: (Responses) => (props) => {
                const { responses } = props;
                const [first, ...others] = responses.toList().toArray();
                const shared = first?.get('headers')?.filter((header, name) =>
                    others.every((other) =>
                        header.equals(other.getIn(['headers', name]))));
                if (!shared?.size) {
                    return React.createElement(Responses, props);
                }
                const Headers = getComponent('headers');
                return React.createElement(React.Fragment, null,
                    React.createElement(Responses, {
                        ...props,
                        responses: responses.map((response) =>
                            response.update('headers', (headers) =>
                                headers.filterNot((_, name) =>
                                    shared.has(name)))),
                    }),
                    React.createElement('div', { className: 'shared-headers' },
                        React.createElement('h4', null,
                            'Headers of all responses'),
                        React.createElement(Headers,
                            { headers: shared, getComponent })));
            },
        },
    };
}

SwaggerUIBundle({
    dom_id: '#api',
    // Not by document.baseURI, which may have a user's password.
    url: new URL(openapi, location.href).href,
    plugins: [careWithKeys, executeOnceResolved, optionalStaysEmpty,
        sharedHeadersOnce],
    deepLinking: true,
    defaultModelsExpandDepth: 0,
    displayRequestDuration: true,
    tryItOutEnabled: true,
    // A key stays in this page's memory: a reload forgets it.
    persistAuthorization: false,
    // Nothing comes from the page's query, and nothing is sent to
    // validator.swagger.io.
    queryConfigEnabled: false,
    validatorUrl: 'none',
});
