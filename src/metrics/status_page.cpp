// The metrics as a page for people.
#include <cmath>
#include <cstdio>

#include "../api/date.h"
#include "../api/version.h"
#include "formats.h"

namespace petstore::metrics {

namespace {

// Follows the colour scheme of the browser. No colour carries a meaning alone.
constexpr std::string_view kStyle = R"(
:root{color-scheme:light dark;--text:#1b1f24;--quiet:#57606a;--page:#f6f8fa;
--card:#fff;--line:#d0d7de;--good:#116329;--bad:#a40e26;--focus:#0550ae}
@media(prefers-color-scheme:dark){:root{--text:#e6edf3;--quiet:#9da7b3;
--page:#0d1117;--card:#161b22;--line:#30363d;--good:#56d364;--bad:#ff7b72;
--focus:#79c0ff}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--text);
font:16px/1.5 system-ui,sans-serif}
header,main{max-width:70rem;margin:auto;padding:1rem}
header{display:flex;flex-wrap:wrap;gap:.25rem 1rem;align-items:baseline}
h1{font-size:1.4rem;margin:0;margin-right:auto}
h2{font-size:1.05rem;margin:0 0 .5rem}
p{margin:0;color:var(--quiet)}
main{display:grid;gap:1rem;padding-top:0;
grid-template-columns:repeat(auto-fit,minmax(min(100%,20rem),1fr))}
section{background:var(--card);border:1px solid var(--line);
border-radius:.5rem;padding:1rem;overflow-x:auto}
section:focus-visible,button:focus-visible{outline:3px solid var(--focus);
outline-offset:2px}
.wide{grid-column:1/-1}
table{border-collapse:collapse;width:100%}
th,td{text-align:left;padding:.25rem .75rem .25rem 0;font-weight:400;
border-top:1px solid var(--line);vertical-align:top;overflow-wrap:anywhere}
thead th{color:var(--quiet);border:0;overflow-wrap:normal}
.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
.good{color:var(--good)}.bad{color:var(--bad);font-weight:700}
button{font:inherit;padding:.25rem .75rem;border-radius:.4rem;
border:1px solid var(--line);background:var(--card);color:var(--text)}
)";

// Fetches the page again and replaces what has changed, so that the focus and
// the place of reading stay. A tab in the background does nothing.
constexpr std::string_view kScript = R"(
(()=>{
const button=document.querySelector('button'),state=document.querySelector('#state');
let paused=false;
button.hidden=false;
button.onclick=()=>{paused=!paused;button.textContent=paused?'Resume':'Pause';
button.setAttribute('aria-pressed',paused);};
async function refresh(){
if(paused||document.hidden)return;
try{
const answer=await fetch(location.href,{headers:{Accept:'text/html'},cache:'no-store'});
if(!answer.ok)throw 0;
const fresh=new DOMParser().parseFromString(await answer.text(),'text/html');
for(const part of fresh.querySelectorAll('[data-part]')){
const old=document.getElementById(part.id);
if(old&&old.innerHTML!==part.innerHTML)old.innerHTML=part.innerHTML;
}
state.textContent='';
}catch(e){state.textContent='The server does not answer.';}
}
setInterval(refresh,5000);
})();
)";

// The page loads nothing but itself; all of its text is escaped.
constexpr std::string_view kPolicy =
    "default-src 'none'; style-src 'unsafe-inline'; script-src "
    "'unsafe-inline'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'";

void append_escaped(std::string& out, std::string_view text)
{
    for (const char c : text) {
        switch (c) {
        case '&':
            out += "&amp;";
            break;
        case '<':
            out += "&lt;";
            break;
        case '>':
            out += "&gt;";
            break;
        case '"':
            out += "&quot;";
            break;
        default:
            out += c;
        }
    }
}

// 1234567 as "1,234,567".
std::string grouped(std::uint64_t number)
{
    std::string text = std::to_string(number);
    for (std::size_t i = text.size(); i > 3; i -= 3) {
        text.insert(i - 3, ",");
    }
    return text;
}

std::string formatted(const char* format, double number)
{
    char text[64];
    std::snprintf(text, sizeof(text), format, number);
    return text;
}

std::string per_second(double rate)
{
    return rate >= 10 ? grouped(static_cast<std::uint64_t>(std::llround(rate)))
                      : formatted("%.1f", rate);
}

std::string milliseconds(double seconds)
{
    return formatted("%.1f ms", seconds * 1000);
}

std::string percentage(const LookupTotals& totals)
{
    const std::uint64_t all = totals.hits + totals.misses;
    return all == 0
               ? "–"
               : formatted("%.1f %%", 100 * static_cast<double>(totals.hits)
                                          / static_cast<double>(all));
}

std::string duration(std::uint64_t seconds)
{
    if (seconds < 120) {
        return std::to_string(seconds) + " s";
    }
    return seconds < 7200 ? std::to_string(seconds / 60) + " min"
                          : std::to_string(seconds / 3600) + " h";
}

class Page {
public:
    // A section with a heading. Its body follows, up to end().
    void begin(const char* id, const char* heading, bool wide = false)
    {
        // Focusable, because it scrolls sideways where it is too wide.
        out_ += "<section";
        out_ += wide ? " class=\"wide\"" : "";
        out_ += " tabindex=\"0\" aria-labelledby=\"h-";
        out_ += id;
        out_ += "\"><h2 id=\"h-";
        out_ += id;
        out_ += "\">";
        out_ += heading;
        out_ += "</h2><div id=\"";
        out_ += id;
        out_ += "\" data-part>";
    }
    void end() { out_ += "</div></section>\n"; }

    void table(std::initializer_list<const char*> columns)
    {
        out_ += "<table><thead><tr>";
        bool first = true;
        for (const char* column : columns) {
            out_ += first ? "<th scope=\"col\">" : "<th scope=\"col\" class=n>";
            out_ += column;
            out_ += "</th>";
            first = false;
        }
        out_ += "</tr></thead><tbody>";
    }
    // A row of a name and numbers.
    void row(std::string_view name, std::initializer_list<std::string> cells,
             const char* cell_class = "n")
    {
        out_ += "<tr><th scope=\"row\">";
        append_escaped(out_, name);
        out_ += "</th>";
        for (const std::string& cell : cells) {
            out_ += "<td class=\"";
            out_ += cell_class;
            out_ += "\">";
            append_escaped(out_, cell);
            out_ += "</td>";
        }
        out_ += "</tr>";
    }
    void end_table() { out_ += "</tbody></table>"; }

    void paragraph(std::string_view text)
    {
        out_ += "<p>";
        append_escaped(out_, text);
        out_ += "</p>";
    }

    Page& operator<<(std::string_view html)
    {
        out_ += html;
        return *this;
    }

    std::string take() { return std::move(out_); }

private:
    std::string out_;
};

void add_requests(Page& page, const Totals& totals)
{
    page.begin("requests", "Requests per second");
    page.table({"Verdict", "now", "in total"});
    for (std::size_t i = 0; i < index_of(Verdict::count); ++i) {
        std::uint64_t sum = 0;
        for (const PlanTotals& plan : totals.plans) {
            sum += plan.decisions[i];
        }
        const auto verdict = static_cast<Verdict>(i);
        const bool dry_run = verdict == Verdict::limited_dry_run
                             || verdict == Verdict::banned_dry_run;
        if (sum != 0 || !dry_run) {
            std::string name(to_string(verdict));
            for (char& c : name) {
                c = c == '_' ? ' ' : c;
            }
            page.row(name, {per_second(totals.rates[i]), grouped(sum)});
        }
    }
    std::uint64_t all = 0;
    for (const auto& statuses : totals.requests) {
        for (const std::uint64_t count : statuses) {
            all += count;
        }
    }
    page.row("all requests", {per_second(totals.request_rate()), grouped(all)});
    page.end_table();
    page.paragraph("“Now” is the average of the last 10 seconds.");
    page.end();
}

void add_latency(Page& page, const Totals& totals)
{
    page.begin("latency", "Latency");
    page.table({"Since the start", "half", "95 %", "99 %"});
    const auto row = [&page](const char* name, const HistogramTotals& times) {
        page.row(name, {milliseconds(times.quantile(0.5)),
                        milliseconds(times.quantile(0.95)),
                        milliseconds(times.quantile(0.99))});
    };
    row("requests", totals.request_duration);
    row("Redis commands", totals.redis_duration);
    page.end_table();
    page.paragraph("That share of them took at most as long.");
    page.end();
}

void add_redis(Page& page, const Totals& totals)
{
    page.begin("redis", "Redis", true);
    page.table(
        {"Redis", "state", "commands", "failures", "refused: queue full"});
    for (const RedisTotals& redis : totals.redis) {
        std::uint64_t failures = 0;
        for (const std::uint64_t count : redis.failures) {
            failures += count;
        }
        page << "<tr><th scope=\"row\">";
        std::string name;
        append_escaped(name, redis.name);
        page << name << "</th>";
        page << (!redis.used ? "<td class=\"n\">not in use</td>"
                 : redis.up  ? "<td class=\"n good\">up</td>"
                             : "<td class=\"n bad\">down</td>");
        for (const std::uint64_t count :
             {redis.commands, failures, redis.rejections}) {
            page << "<td class=\"n\">" << grouped(count) << "</td>";
        }
        page << "</tr>";
    }
    page.end_table();
    if (totals.redis.empty()) {
        page.paragraph("No location uses a Redis.");
    }
    page.end();
}

void add_denied(Page& page, const Totals& totals)
{
    page.begin("denied", "Limited and banned accounts", true);
    if (totals.denied.empty()) {
        page.paragraph("None at this moment.");
        return page.end();
    }
    page.table({"Account", "plan", "state", "ends in", "requests denied"});
    for (const DeniedTotals& denied : totals.denied) {
        page.row(denied.account.account(),
                 {denied.plan, denied.account.banned ? "banned" : "limited",
                  duration(denied.account.until - totals.now),
                  grouped(denied.account.denied)});
    }
    page.end_table();
    page.paragraph("Those that this host has denied, the latest first; of very "
                   "many, some are missing.");
    page.end();
}

void add_caches(Page& page, const Totals& totals)
{
    page.begin("caches", "Caches");
    page.table({"Cache", "hits", "look-ups"});
    const auto row = [&page](const char* name, const LookupTotals& lookups) {
        page.row(name,
                 {percentage(lookups), grouped(lookups.hits + lookups.misses)});
    };
    row("API keys", totals.keys);
    row("responses", totals.responses);
    row("pets, for responses that are not cached", totals.pets);
    page.end_table();
    page.end();
}

void add_attention(Page& page, const Totals& totals)
{
    page.begin("attention", "Events to look into");
    page.table({"Event", "in total"});
    page.row("bans", {grouped(totals.bans)});
    page.row("creates with an unknown outcome",
             {grouped(totals.outcome_unknown)});
    page.row("reads of damaged data", {grouped(totals.damaged_data)});
    page.end_table();
    page.end();
}

}  // namespace

std::string status_page(const Totals& totals)
{
    Page page;
    page << "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
            "<meta name=\"viewport\" content=\"width=device-width, "
            "initial-scale=1\"><title>Pet store status</title>"
            "<noscript><meta http-equiv=\"refresh\" content=\"10\"></noscript>"
            "<link rel=\"icon\" href=\"data:,\"><style>"
         << kStyle << "</style></head><body><header><h1>Pet store status</h1>"
         << "<p id=\"facts\" data-part>Version " << api::kVersion << ", nginx "
         << totals.nginx << ", " << std::to_string(totals.workers)
         << (totals.workers == 1 ? " worker, " : " workers, ")
         << api::http_date(static_cast<api::UnixTime>(totals.now))
         << "</p><button type=\"button\" hidden>Pause</button>"
            "<p id=\"state\" role=\"status\"></p></header>\n<main>";
    add_requests(page, totals);
    add_latency(page, totals);
    add_redis(page, totals);
    add_denied(page, totals);
    add_caches(page, totals);
    add_attention(page, totals);
    page << "</main><script>" << kScript << "</script></body></html>\n";
    return page.take();
}

std::string_view status_page_policy() noexcept
{
    return kPolicy;
}

}  // namespace petstore::metrics
