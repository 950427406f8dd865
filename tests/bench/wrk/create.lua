-- POSTs a pet.
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
wrk.body = '{"name":"Rex the dog 00000001","categoryId":7,"status":"available"}'
