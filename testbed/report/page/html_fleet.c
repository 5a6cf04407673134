// SPDX-License-Identifier: Apache-2.0
//
// html_fleet: all hosts side by side as a section of the report, machines that are alike under one head. Each verdict leads to the
// run behind it, further down the page. Where there are many hosts a verdict is its sign alone, and its name is the sign's title.
#include <string.h>

#include "testbed/base/json.h"
#include "testbed/report/hosts/fleet.h"

#define WORD_HOSTS 8 // columns that a page has room for

static void put_sentences(FILE *out, const json_t *fleet)
{
    const json_t *entry;
    size_t i;
    fputs("<p class=\"across\">", out);
    json_array_foreach (tb_member(fleet, "answer"), i, entry)
        tb_html(out, "@@", i ? " " : "", json_string_value(entry));
    fputs("</p>\n", out);
    json_array_foreach (tb_member(fleet, "warnings"), i, entry)
        tb_html(out, "<p class=\"note trial\">@</p>\n", json_string_value(entry));
    if (json_array_size(tb_member(fleet, "disagree")) == 0)
        return;
    fputs("<ul class=\"fallen disagree\">\n", out);
    json_array_foreach (tb_member(fleet, "disagree"), i, entry)
        tb_html(out, "<li data-disagree=\"@ @\">@</li>\n", tb_member_text(entry, "postulate"), tb_member_text(entry, "prediction"),
                tb_member_text(entry, "sentence"));
    fputs("</ul>\n", out);
}

// A word for what is no hardware stands at the host, too: its column may be far from the head of its kind.
static void put_host(FILE *out, const json_t *host)
{
    const char *kind = tb_member_text(host, "kind"), *guest = tb_member_text(host, "guest"), *name = tb_member_text(host, "host");
    bool emulated = strcmp(kind, "emulated") == 0;
    tb_html(out, "<th scope=\"col\" data-host=\"@\" data-kind=\"@\">@", name, kind, name);
    if (emulated || strcmp(kind, "virtual") == 0)
        tb_html(out, "<br/><small class=\"@\">@@@</small>", emulated ? "poor" : "", kind, *guest ? ": " : "", guest);
    fputs("</th>", out);
}

static void put_head(FILE *out, const json_t *fleet)
{
    const json_t *group, *host;
    size_t i;
    fputs("<thead><tr><td></td>", out);
    json_array_foreach (tb_member(fleet, "groups"), i, group) {
        const char *cpu = tb_member_text(group, "cpu"), *topology = tb_member_text(group, "topology");
        const char *kind = tb_member_text(group, "kind");
        tb_html(out, "<th scope=\"colgroup\" colspan=\"@\" class=\"machine\">@<br/><small>@; @</small></th>",
                TB_COUNT((size_t)tb_member_number(group, "hosts")), *cpu ? cpu : "a CPU that its logs do not name",
                *topology ? topology : "topology not told", strcmp(kind, "unknown") ? kind : "kind not told");
    }
    fputs("</tr>\n<tr><th scope=\"col\">postulate</th>", out);
    json_array_foreach (tb_member(fleet, "hosts"), i, host)
        put_host(out, host);
    fputs("</tr></thead>", out);
}

static void put_cell(FILE *out, const json_t *result, bool words)
{
    const char *verdict = tb_member_text(result, "verdict"), *run = tb_member_text(result, "run");
    size_t more = json_array_size(tb_member(result, "older")) + json_array_size(tb_member(result, "unfit"));
    const struct tb_badge *badge = tb_badge(verdict);
    tb_html(out, "<td data-host=\"@\" data-verdict=\"@\"", tb_member_text(result, "host"), verdict);
    if (!*run) {
        fputs(" title=\"not run there\">\u00b7</td>", out);
        return;
    }
    tb_html(out, " class=\"@\"><a href=\"#@\" title=\"@\"><span class=\"sign\">@</span>@@</a>", badge->css, run, verdict,
            badge->sign, words ? " " : "", words ? tb_fleet_word(verdict)->word : "");
    if (more > 0)
        tb_html(out, " <small title=\"more official runs, older or without a verdict\">+@</small>", TB_COUNT(more));
    fputs("</td>", out);
}

static void put_matrix(FILE *out, const json_t *fleet)
{
    const json_t *postulate, *result;
    bool words = json_array_size(tb_member(fleet, "hosts")) <= WORD_HOSTS;
    size_t i, j;
    fputs("<div class=\"wide\"><table class=\"fleet\">", out);
    put_head(out, fleet);
    fputs("<tbody>\n", out);
    json_array_foreach (tb_member(fleet, "postulates"), i, postulate) {
        tb_html(out, "<tr data-postulate=\"@\"><th scope=\"row\">@ <small>@</small></th>", tb_member_text(postulate, "id"),
                tb_member_text(postulate, "id"), tb_member_text(postulate, "slug"));
        json_array_foreach (tb_member(postulate, "results"), j, result)
            put_cell(out, result, words);
        fputs("</tr>\n", out);
    }
    fputs("</tbody></table></div>\n", out);
}

// Where more than one machine could measure it.
static void put_shared(FILE *out, const json_t *fleet)
{
    const json_t *postulate, *prediction;
    bool begun = false;
    size_t i, j;
    json_array_foreach (tb_member(fleet, "postulates"), i, postulate) {
        json_array_foreach (tb_member(postulate, "predictions"), j, prediction) {
            if (tb_member_number(prediction, "measured") < 2)
                continue;
            if (!begun)
                fputs("<details class=\"fold\"><summary>Every prediction that more than one machine measured</summary>"
                      "<ul class=\"gates\">\n",
                      out);
            begun = true;
            tb_html(out, "<li data-across=\"@ @\">@ <small><code>@</code></small></li>\n", tb_member_text(postulate, "id"),
                    tb_member_text(prediction, "id"), tb_member_text(prediction, "sentence"), tb_member_text(prediction, "text"));
        }
    }
    if (begun)
        fputs("</ul></details>\n", out);
}

void tb_fleet_html(FILE *out, const json_t *fleet)
{
    fputs("<h2 id=\"machines\">Machines</h2>\n", out);
    put_sentences(out, fleet);
    put_matrix(out, fleet);
    put_shared(out, fleet);
    fputs("<p class=\"note\">Of each machine its newest official run that says something. The same in a terminal, and each "
          "prediction with its intervals: <code>locus compare</code></p>\n",
          out);
}
