"""A back end that sells an API: sign-up, change of plan, usage. Its routes need authentication.

  PETSTORE_ADMIN=http://127.0.0.1:8081/admin/v1 PETSTORE_ADMIN_KEY=… flask --app sign_up run"""
import os
from urllib.parse import quote, urlsplit
import flask
import requests
from petstore_admin import Account, AccountChange, AccountUsage, KeyCreation, NewKey

app = flask.Flask(__name__)
base = os.environ["PETSTORE_ADMIN"] + "/"
admin = requests.Session()
admin.headers["Authorization"] = "Bearer " + os.environ["PETSTORE_ADMIN_KEY"]
admin.hooks["response"] = lambda response, **_: response.raise_for_status()
# Repeats for some seconds: Retry-After may say a day. An Idempotency-Key makes that safe.
admin.mount(base, requests.adapters.HTTPAdapter(max_retries=requests.adapters.Retry(
    total=4, status_forcelist=(429, 503), allowed_methods=None, raise_on_status=False,
    backoff_factor=1, respect_retry_after_header=False)))


def call(method, path, body=None, once=None):
    response = admin.request(method, base + path, headers={"Idempotency-Key": once},
                             json=body.to_dict() if body else None)
    return response.json(), urlsplit(response.links.get("next", {}).get("url", "")).query


def account_of(customer: str) -> str:
    found, _ = call("GET", "accounts?external_id=" + quote(customer, safe=""))
    return "accounts/" + (Account.from_dict(found[0]).id if found else "-")  # "-" is answered 404


def near_limit(percent: int = 80):
    query = "limit=100"
    while query:
        page, query = call("GET", "usage?" + query)
        yield from (usage.external_id for usage in map(AccountUsage.from_dict, page) if any(
            w.used * 100 >= w.limit * percent for w in usage.windows if w.window.value != "minute"))


@app.errorhandler(requests.HTTPError)
def failed(error):
    return error.response.json(), error.response.status_code


@app.post("/customers/<customer>")
def sign_up(customer: str):
    attempt = quote(customer, safe="") + "/" + flask.request.headers.get("Idempotency-Key", os.urandom(16).hex())
    call("POST", "accounts", AccountChange(external_id=customer), "account-" + attempt)
    made, _ = call("POST", "keys", KeyCreation(external_id=customer), "key-" + attempt)
    return {"key": NewKey.from_dict(made).key}, 201  # None in a repetition


@app.put("/customers/<customer>/plan")
def change_plan(customer):
    return call("PATCH", account_of(customer), AccountChange(plan=flask.request.json.get("plan", "")))[0]


@app.get("/customers/<customer>/usage")
def usage_of(customer: str):
    return call("GET", account_of(customer) + "/usage")[0]
