#include "template.h"

namespace petstore::openapi {

const char kTemplate[] = R"json({
"openapi": "3.1.0",
"info": {
  "title": "Pet store",
  "summary": "Animals for adoption.",
  "description": "Lists, adds and shows the animals of an adoption store.\n\n## API keys\nEvery request needs an API key: `Authorization: Bearer <API_KEY>`. Keys in the query are ignored.\n\n## Limits\nA key belongs to an account, and each account has a limit per minute and one per day, which start at its first request. Every response says in `X-RateLimit-*` how many requests are left in the tighter of the two windows, and when that window ends. Requests over the limit get 429 with `Retry-After` and are not charged. Clients that keep sending requests after a 429 are eventually banned for some minutes. Without a valid key, these headers describe the window of the client's address.\n\n## Errors\nEvery error has the same body: a stable `code` for programs, a `message` for people, and the HTTP `status`.\n\n## Retries\nRepeat a request that failed with 429 or 503 after `Retry-After` seconds. Send an `Idempotency-Key` when creating a pet: a repeated request then returns the first answer instead of creating a second pet, also after 503 `outcome_unknown` or a broken connection.\n\n## Conventions\nHEAD works wherever GET does. OPTIONS answers 204 with `Allow`, without an API key. Unknown paths are 404, unknown query parameters and unknown members of a body are ignored.",
  "version": "",
  "contact": {"name": "The operator of this store"},
  "license": {"name": "BSD-2-Clause", "identifier": "BSD-2-Clause"}
},
"servers": [],
"security": [{"apiKey": []}],
"tags": [{"name": "Pets", "description": "The animals of the store."}],
"paths": {
  "/pets": {
    "get": {
      "operationId": "listPets",
      "tags": ["Pets"],
      "summary": "List pets",
      "description": "Returns pets in the order of their ids. A page is full unless it is the last one. While there are more pets, the header `Link` contains the URL of the next page (`rel=\"next\"`), followed by that of the first one (`rel=\"first\"`). Follow these URLs rather than building them.\n\nA walk through all pages returns every pet that existed when it started exactly once, whatever is added meanwhile.",
      "parameters": [
        {"$ref": "#/components/parameters/limit"},
        {"$ref": "#/components/parameters/statusFilter"},
        {"$ref": "#/components/parameters/cursor"}
      ],
      "responses": {
        "200": {
          "description": "A page of pets.",
          "content": {"application/json": {
            "schema": {"type": "array", "items": {"$ref": "#/components/schemas/Pet"}},
            "examples": {
              "page": {
                "summary": "A page",
                "value": [
                  {"id": 1, "name": "Bella", "categoryId": 1, "status": "available"},
                  {"id": 2, "name": "Milo", "categoryId": 2, "status": "pending"}
                ]
              },
              "empty": {"summary": "No pet with this status", "value": []}
            }
          }}
        }
      }
    },
    "post": {
      "operationId": "createPet",
      "tags": ["Pets"],
      "summary": "Add a pet",
      "description": "Adds a pet and returns it with its new id. Ids ascend and are never reused. Once the response has arrived, every list contains the pet.",
      "parameters": [{"$ref": "#/components/parameters/idempotencyKey"}],
      "requestBody": {
        "description": "The pet, in UTF-8 and without duplicate member names (I-JSON, RFC 7493).",
        "required": true,
        "content": {"application/json": {
          "schema": {"$ref": "#/components/schemas/NewPet"},
          "examples": {
            "pet": {
              "summary": "A pet that is available",
              "value": {"name": "Bella", "categoryId": 1}
            },
            "withStatus": {
              "summary": "A pet with a status",
              "value": {"name": "Milo", "categoryId": 2, "status": "pending"}
            }
          }
        }}
      },
      "responses": {
        "201": {
          "description": "The pet was added, now or by an earlier request with the same Idempotency-Key.",
          "content": {"application/json": {
            "schema": {"$ref": "#/components/schemas/Pet"},
            "examples": {
              "pet": {
                "summary": "The new pet",
                "value": {"id": 1, "name": "Bella", "categoryId": 1, "status": "available"}
              }
            }
          }}
        }
      }
    }
  },
  "/pets/{petId}": {
    "get": {
      "operationId": "getPet",
      "tags": ["Pets"],
      "summary": "Show a pet",
      "description": "Deprecated in favour of `listPets`, as the headers `Deprecation` and `Link` (`rel=\"successor-version\"`) say.",
      "deprecated": true,
      "parameters": [{"$ref": "#/components/parameters/petId"}],
      "responses": {
        "200": {
          "description": "The pet.",
          "content": {"application/json": {
            "schema": {"$ref": "#/components/schemas/Pet"},
            "examples": {
              "pet": {
                "summary": "A pet",
                "value": {"id": 1, "name": "Bella", "categoryId": 1, "status": "available"}
              }
            }
          }}
        }
      }
    }
  }
},
"components": {
  "securitySchemes": {
    "apiKey": {
      "type": "http",
      "scheme": "bearer",
      "bearerFormat": "API key",
      "description": "The API key that the store's operator issued."
    }
  },
  "parameters": {
    "limit": {
      "name": "limit",
      "in": "query",
      "description": "The most pets that a page may have.",
      "schema": {"type": "integer", "format": "int32", "minimum": 1},
      "example": 50
    },
    "statusFilter": {
      "name": "status",
      "in": "query",
      "description": "Lists only pets with this status.",
      "schema": {"$ref": "#/components/schemas/Status"},
      "example": "available"
    },
    "cursor": {
      "name": "cursor",
      "in": "query",
      "description": "Where the page starts: opaque, from a `Link` of a list with the same `status`.",
      "schema": {"type": "string", "minLength": 1}
    },
    "petId": {
      "name": "petId",
      "in": "path",
      "required": true,
      "description": "The id of the pet. Anything that is not the decimal id of an existing pet is 404.",
      "schema": {"type": "integer", "format": "int64", "minimum": 1},
      "example": 1
    },
    "idempotencyKey": {
      "name": "Idempotency-Key",
      "in": "header",
      "description": "Makes it safe to repeat the request. For 24 hours, a request of the same account with this key and the same body returns the first answer, with `Idempotent-Replayed: true`. Use a new random value, such as a UUID, for each pet.",
      "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$"},
      "example": "8e03978e-40d5-43dd-bc93-6894a57f9324"
    }
  },
  "headers": {
    "X-RateLimit-Limit": {
      "description": "Requests that the window allows.",
      "required": true,
      "schema": {"type": "integer", "format": "int64", "minimum": 0},
      "example": 60
    },
    "X-RateLimit-Remaining": {
      "description": "Requests that are left in the window.",
      "required": true,
      "schema": {"type": "integer", "format": "int64", "minimum": 0},
      "example": 59
    },
    "X-RateLimit-Reset": {
      "description": "When the window ends, in Unix seconds.",
      "required": true,
      "schema": {"type": "integer", "format": "int64", "minimum": 0},
      "example": 1795219260
    },
    "X-RateLimit-Limit-Minute": {
      "description": "Requests that the account may send per minute.",
      "schema": {"type": "integer", "format": "int64", "minimum": 0},
      "example": 60
    },
    "X-RateLimit-Remaining-Minute": {
      "description": "Requests that are left in the window of a minute.",
      "schema": {"type": "integer", "format": "int64", "minimum": 0},
      "example": 59
    },
    "X-RateLimit-Reset-Minute": {
      "description": "When the window of a minute ends, in Unix seconds.",
      "schema": {"type": "integer", "format": "int64", "minimum": 0},
      "example": 1795219260
    },
    "X-RateLimit-Limit-Day": {
      "description": "Requests that the account may send per day.",
      "schema": {"type": "integer", "format": "int64", "minimum": 0},
      "example": 1000
    },
    "X-RateLimit-Remaining-Day": {
      "description": "Requests that are left in the window of a day.",
      "schema": {"type": "integer", "format": "int64", "minimum": 0},
      "example": 941
    },
    "X-RateLimit-Reset-Day": {
      "description": "When the window of a day ends, in Unix seconds.",
      "schema": {"type": "integer", "format": "int64", "minimum": 0},
      "example": 1795305600
    },
    "RateLimit-Policy": {
      "description": "The limits per minute and per day (draft-ietf-httpapi-ratelimit-headers).",
      "schema": {"type": "string"},
      "example": "\"minute\";q=60;w=60, \"day\";q=1000;w=86400"
    },
    "RateLimit": {
      "description": "What is left of both limits, and for how many seconds (draft-ietf-httpapi-ratelimit-headers).",
      "schema": {"type": "string"},
      "example": "\"minute\";r=59;t=60, \"day\";r=941;t=86400"
    },
    "Cache-Control": {
      "description": "Responses must not be cached.",
      "required": true,
      "schema": {"type": "string"},
      "example": "no-store"
    },
    "Link": {
      "description": "The next page and the first one (RFC 8288). Absent from the last page.",
      "schema": {"type": "string"}
    },
    "Location": {
      "description": "The URL of the new pet.",
      "required": true,
      "schema": {"type": "string", "format": "uri-reference"}
    },
    "Idempotent-Replayed": {
      "description": "Present if an earlier request with the same Idempotency-Key created the pet.",
      "schema": {"type": "string", "enum": ["true"]},
      "example": "true"
    },
    "Deprecation": {
      "description": "The date from which the operation is deprecated (RFC 9745). Like `Sunset` and `Link`, absent from errors of nginx that come before the operation is known.",
      "schema": {"type": "string", "pattern": "^@[0-9]+$"}
    },
    "Sunset": {
      "description": "The date from which the operation answers 410 (RFC 8594).",
      "schema": {"type": "string"}
    },
    "Successor": {
      "description": "The operation to use instead (`rel=\"successor-version\"`).",
      "schema": {"type": "string"}
    },
    "WWW-Authenticate": {
      "description": "The scheme to authenticate with; `error=\"invalid_token\"` if an API key was sent.",
      "required": true,
      "schema": {"type": "string"},
      "example": "Bearer realm=\"petstore\", error=\"invalid_token\""
    },
    "Allow": {
      "description": "The methods that the path supports.",
      "required": true,
      "schema": {"type": "string"},
      "example": "GET, HEAD, OPTIONS"
    },
    "Retry-After": {
      "description": "Seconds to wait before the next request.",
      "required": true,
      "schema": {"type": "integer", "format": "int64", "minimum": 1},
      "example": 30
    },
    "Vary": {
      "description": "The response depends on the origin that asks.",
      "schema": {"type": "string"},
      "example": "Origin"
    },
    "Access-Control-Allow-Origin": {
      "description": "The origin whose scripts may read the response.",
      "schema": {"type": "string"}
    },
    "Access-Control-Expose-Headers": {
      "description": "The headers that such scripts may read.",
      "schema": {"type": "string"},
      "example": "Link, Location, Retry-After"
    }
  },
  "schemas": {
    "Status": {
      "type": "string",
      "description": "Whether the pet can be adopted.",
      "enum": []
    },
    "Pet": {
      "type": "object",
      "description": "A pet in the store.",
      "required": ["id", "name", "categoryId"],
      "properties": {
        "id": {
          "type": "integer",
          "format": "int64",
          "minimum": 1,
          "description": "Assigned by the service.",
          "examples": [1]
        },
        "name": {
          "type": "string",
          "minLength": 1,
          "description": "As the client wrote it.",
          "examples": ["Bella"]
        },
        "categoryId": {
          "type": "integer",
          "format": "int64",
          "description": "The kind of animal; its meaning is the client's.",
          "examples": [1]
        },
        "status": {"$ref": "#/components/schemas/Status"}
      }
    },
    "NewPet": {
      "type": "object",
      "description": "A pet to be added. Other members are ignored, except `id`: the service assigns it.",
      "required": ["name", "categoryId"],
      "not": {"required": ["id"]},
      "properties": {
        "name": {
          "type": "string",
          "minLength": 1,
          "pattern": "^[^\\x00-\\x1f\\x7f-\\x9f]*[^\\x00-\\x1f\\x7f-\\x9f \\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000][^\\x00-\\x1f\\x7f-\\x9f]*$",
          "description": "Without control characters, and not only white space.",
          "examples": ["Bella"]
        },
        "categoryId": {
          "type": "integer",
          "format": "int64",
          "description": "Written in plain decimal digits; `1.0` and `1e3` are invalid.",
          "examples": [1]
        },
        "status": {
          "$ref": "#/components/schemas/Status",
          "description": "`available` if absent."
        }
      }
    },
    "Error": {
      "type": "object",
      "description": "The body of every error.",
      "required": ["code", "message", "status"],
      "properties": {
        "code": {
          "type": "string",
          "description": "Identifies the kind of error. Stable.",
          "examples": ["pet_not_found"]
        },
        "message": {
          "type": "string",
          "description": "English text for people. May change.",
          "examples": ["There is no pet with this id."]
        },
        "status": {
          "type": "integer",
          "format": "int32",
          "minimum": 400,
          "maximum": 599,
          "description": "The HTTP status.",
          "examples": [404]
        }
      }
    }
  }
}
})json";

}  // namespace petstore::openapi
