// SPDX-License-Identifier: Apache-2.0
//
// html_style: the style sheet. Ink on paper, one accent for what fell; the contenders alone have colours, and those come from
// look.h. Below 40 rem a row's name and figure share a line above its drawing. On paper everything is open that is not raw.
#include <string.h>

#include "testbed/base/draw/look.h"
#include "testbed/report/page/html_page.h"

static const char frame[] =
    ":root{--paper:#fff;--ink:#1b1f24;--soft:#59636e;--line:#d8dee4;--wash:#f6f8fa;--good:#1a7f37;--fell:#b3261e;--poor:#8a5a00;"
    "--claim:#1a7f371c;color-scheme:light dark}\n"
    "@media (prefers-color-scheme:dark){:root{--paper:#14171b;--ink:#e6e9ec;--soft:#9aa4ae;--line:#343b43;--wash:#1c2026;"
    "--good:#57c46f;--fell:#ff8a80;--poor:#e3b341;--claim:#57c46f22}}\n"
    "*{box-sizing:border-box}\n"
    "body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,sans-serif;overflow-wrap:anywhere}\n"
    "main{max-width:62rem;margin:0 auto;padding:2rem 1.25rem 4rem}\n"
    "h1{font-size:1.15rem;font-weight:500;color:var(--soft);margin:0}\n"
    "h2{font-size:1.1rem;margin:2.5rem 0 .5rem}\n"
    "h3{font-size:1rem;margin:1.75rem 0 .25rem}h4{font-size:.9rem;margin:.75rem 0 .25rem}\n"
    "h3 small,h4 small,.name small,li small{color:var(--soft);font-weight:400;font-size:.8rem}\n"
    "code,pre{font:.875em/1.4 ui-monospace,monospace}\n"
    "a{color:inherit}\n"
    ".answer{font-size:1.6rem;line-height:1.3;font-weight:600;margin:.25rem 0 1rem;text-wrap:pretty;overflow-wrap:break-word}\n"
    ".fallen{list-style:none;margin:0 0 1rem;padding:0 0 0 .75rem;border-left:3px solid var(--fell)}\n"
    ".note,.meta,.keys,.observed{color:var(--soft);font-size:.875rem;margin:.25rem 0}\n"
    ".trial{border-left:3px solid var(--poor);padding-left:.75rem}\n"
    ".observed b,.figure b{color:var(--ink)}\n"
    ".why{color:var(--ink);font-size:.875rem}.nowrap,.figure,td{white-space:nowrap}.bad{color:var(--fell)}\n"
    ".sign{display:inline-block;min-width:1em;text-align:center;font-weight:700}\n"
    ".defs{position:absolute;width:0;height:0}\n"
    ".counts{display:flex;flex-wrap:wrap;gap:.5rem;list-style:none;padding:0;margin:1rem 0}\n"
    ".counts li{overflow-wrap:normal;border:1px solid var(--line);border-radius:6px;padding:.4rem .8rem;display:flex;"
    "flex-direction:column;min-width:6.75rem}\n"
    ".counts b{font-size:1.5rem;line-height:1.2;font-variant-numeric:tabular-nums}.counts span{font-size:.8rem;color:var(--soft)}\n"
    ".counts .good b,.counts .good .sign{color:var(--good)}.counts .fell b,.counts .fell .sign{color:var(--fell)}"
    ".counts .poor b,.counts .poor .sign{color:var(--poor)}\n"
    ".counts [data-runs=\"0\"] b,.counts [data-runs=\"0\"] .sign{color:var(--soft)}\n";

static const char runs[] =
    ".run{border:1px solid var(--line);border-radius:6px;margin:.5rem 0}\n"
    ".run>summary{display:grid;grid-template-columns:11.5rem 1fr;gap:.25rem .75rem;padding:.7rem .9rem;cursor:pointer}\n"
    "summary{list-style:none}summary::-webkit-details-marker{display:none}\n"
    ".run>summary:hover,.fold>summary:hover{background:var(--wash)}\n"
    "summary:focus-visible,a:focus-visible{outline:2px solid #0072B2;outline-offset:2px;border-radius:4px}\n"
    ".run[open]>summary{border-bottom:1px solid var(--line)}\n"
    ".body{padding:.25rem .9rem 1rem}\n"
    ".badge{display:inline-block;align-self:start;justify-self:start;border:1px solid var(--soft);border-radius:4px;"
    "padding:0 .5rem 0 .25rem;font-size:.75rem;font-weight:600;line-height:1.4rem;white-space:nowrap}\n"
    ".badge.good{background:var(--good);border-color:var(--good);color:var(--paper)}\n"
    ".badge.fell{background:var(--fell);border-color:var(--fell);color:var(--paper)}\n"
    ".badge.poor{border-color:var(--poor);color:var(--poor)}\n"
    ".badge.emulated{border:1px dashed var(--poor);color:var(--poor)}.badges{display:flex;flex-wrap:wrap;gap:.3rem;"
    "align-content:start}\n"
    ".run[data-emulated]{border-left:3px dashed var(--poor)}\n"
    ".emulation{border-left:3px solid var(--poor);background:var(--wash);padding:.5rem .75rem;margin:.75rem 0}\n"
    ".what>span{display:block}.title{font-weight:600}.id{color:var(--soft);font-weight:400;font-variant-numeric:tabular-nums}\n"
    ".claim{font-size:.875rem}.seen{white-space:nowrap;margin-left:.35rem}.seen.not{white-space:normal;color:var(--soft)}\n"
    ".prediction{margin-top:1.25rem}.prediction h3{margin-top:0}\n"
    ".key{margin-right:1rem}\n"
    ".gates{list-style:none;padding:0;margin:.25rem 0;font-size:.875rem}.gates [data-passed=no]{color:var(--fell)}\n"
    ".fold{margin:.5rem 0;border-top:1px solid var(--line)}\n"
    ".fold>summary{cursor:pointer;padding:.35rem 0;font-size:.9rem}\n"
    ".fold>summary::before,dd>.raw>summary::before{content:\"\\25B8\\00A0\"}\n"
    ".fold[open]>summary::before,dd>.raw[open]>summary::before{content:\"\\25BE\\00A0\"}\n"
    "dd>.raw>summary{cursor:pointer;color:var(--soft)}\n"
    "dl{margin:0;font-size:.8125rem}dl div{display:grid;grid-template-columns:minmax(7rem,12rem) 1fr;gap:.75rem;padding:.1rem 0}\n"
    "dl div:has(>dd>dl){display:block}\n"
    "dl dl{border-left:1px solid var(--line);padding-left:.6rem}dl dl div{grid-template-columns:minmax(5rem,10rem) 1fr}\n"
    "dt{color:var(--soft)}dd{margin:0;min-width:0}ol{margin:0;padding-left:1.4rem}\n"
    ".source dd{font:.8rem/1.5 ui-monospace,monospace}\n"
    "pre{margin:.25rem 0;max-height:20rem;overflow:auto;background:var(--wash);padding:.5rem;overflow-wrap:normal}\n";

static const char drawings[] =
    ".chart{margin:.25rem 0 1rem}\n"
    ".panels{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(26.5rem,100%),1fr));gap:0 2rem}\n"
    ".row{display:grid;grid-template-columns:minmax(0,13.5rem) 1fr minmax(9.5rem,max-content);column-gap:.75rem;align-items:center;"
    "font-size:.8125rem}\n"
    ".strips .row{grid-template-columns:minmax(0,11rem) 1fr 6rem;column-gap:.75rem}\n"
    ".intervals .row{grid-template-columns:minmax(0,13.5rem) 1fr 11.5rem}\n"
    ".row>svg{width:100%;display:block;overflow:visible}\n"
    ".row.cell{font-weight:600}.strips .row{padding:1px 0}\n"
    ".name{overflow:hidden;text-overflow:ellipsis;white-space:nowrap}\n"
    ".figure{text-align:right;font-variant-numeric:tabular-nums;color:var(--soft)}\n"
    ".mark{width:14px;height:14px;vertical-align:-2px;overflow:visible}\n"
    "svg line{stroke:currentColor}svg text{fill:var(--soft);font-size:11px;text-anchor:middle}\n"
    "svg line.grid{stroke:var(--line)}svg line.tick{stroke:var(--soft)}svg line.median{stroke:var(--ink);stroke-width:2}\n"
    "svg line.bar{stroke-width:4}svg line.unbounded{stroke-dasharray:3 4;stroke-width:2}\n"
    "svg line.threshold{stroke:var(--ink);stroke-width:1.5}svg line.same{stroke:var(--soft);stroke-dasharray:2 3}\n"
    ".filled{fill:currentColor}.hollow{fill:var(--paper)}.outline{fill:none}\n"
    ".claimed{fill:var(--claim)}\n"
    ".wide{overflow-x:auto;margin:.25rem 0 .75rem}\n"
    "table{border-collapse:collapse;font-size:.8125rem;font-variant-numeric:tabular-nums;min-width:100%}\n"
    "th,td{text-align:right;padding:.2rem .6rem;border-bottom:1px solid var(--line);white-space:nowrap}\n"
    "thead th{color:var(--soft);font-weight:400;vertical-align:bottom}tbody th{font-weight:400}\n"
    "th:first-child,.text{text-align:left!important;padding-left:0}\n";

// The dashes tell contenders apart that look alike.
static const char curves[] =
    ".plot{display:grid;grid-template-columns:2.5rem 1fr 3rem;column-gap:.5rem}\n"
    ".plot>svg{width:100%;display:block;overflow:visible}.plot svg svg{overflow:visible}\n"
    ".plot>.forward{grid-column:2}.plot>.upward text{text-anchor:end}\n"
    ".plot>.ends text{text-anchor:start;font-weight:700}.plot tspan{fill:currentColor}\n"
    ".plot polyline{fill:none;stroke:currentColor;stroke-width:2;stroke-linejoin:round;vector-effect:non-scaling-stroke}\n"
    ".plot polygon{fill:currentColor;fill-opacity:.18}\n"
    ".d1{stroke-dasharray:7 4}.d2{stroke-dasharray:2 4}.d3{stroke-dasharray:9 3 2 3}\n"
    ".sample{width:32px;height:14px;vertical-align:-2px;overflow:visible}.sample line{stroke-width:2}\n"
    ".sum>*{color:var(--soft)}td small{color:var(--soft)}\n"
    ".nodes{margin-bottom:1.5rem}.nodes .meta{margin-left:.5rem}.fold .wide{margin-top:.5rem}\n"
    ".placement td.text,.placement th.text{padding-left:.9rem}\n"
    ".across{margin:.25rem 0 .75rem}.fleet td,.fleet thead th+th{text-align:center}.fleet a{text-decoration:none}\n"
    ".fleet a:hover{text-decoration:underline}.fleet .good a{color:var(--good)}.fleet .fell a{color:var(--fell);font-weight:600}\n"
    ".fleet .poor a,.fleet small.poor{color:var(--poor)}.fleet thead .machine{"
    "text-align:left;white-space:normal;overflow-wrap:normal;border-left:1px solid var(--line)}"
    ".fleet tbody th small{color:var(--soft)}\n";

static const char media[] =
    "@media (max-width:40rem){main{padding:1.25rem .9rem 3rem}.answer{font-size:1.25rem}.run>summary{grid-template-columns:1fr}"
    ".row,.strips .row,.intervals .row{grid-template-columns:minmax(0,1fr) auto}.row>svg{grid-row:2;grid-column:1/-1}"
    ".row.cell>svg{display:none}"
    ".row.axis{grid-template-columns:1fr}.row.axis span:first-child{display:none}.row.axis>svg{grid-row:1}"
    ".row.axis .figure{grid-row:2}.seen{display:block;margin-left:1.35rem}.counts li{flex:1 1 6.5rem}"
    "dl div,dl dl div{grid-template-columns:minmax(4.5rem,7rem) 1fr}"
    ".nodes thead th,.pairs th{white-space:normal;overflow-wrap:normal}.plot{grid-template-columns:2.25rem 1fr 2.5rem}}\n"
    "@media print{:root{--paper:#fff;--ink:#000;--soft:#444;--line:#bbb;--wash:#fff;--good:#1a7f37;--fell:#b3261e;--poor:#8a5a00;"
    "--claim:#1a7f371c}body{font-size:10pt}main{max-width:none;padding:0}*{print-color-adjust:exact}"
    "details:not(.raw)::details-content{content-visibility:visible;display:block;block-size:auto}"
    ".run{border:0;border-top:1px solid #bbb;border-radius:0}.prediction,.chart,table,.run>summary{break-inside:avoid}"
    ".wide{overflow:visible}.fold dl{font-size:7pt;columns:2}.fold dl dl{columns:1}}\n";

// The colour "#0072B2" is the class "k0072B2". Black is for paper only.
static void put_colours(FILE *out)
{
    for (size_t i = 0; tb_look_at(i); i++) {
        size_t earlier = 0;
        const char *colour = tb_look_at(i)->colour;
        while (strcmp(tb_look_at(earlier)->colour, colour))
            earlier++;
        if (earlier == i)
            fprintf(out, ".k%s{color:%s}\n", colour + 1, strcmp(colour, "#000000") ? colour : "var(--ink)");
    }
}

void tb_html_style(FILE *out)
{
    fputs("<style>\n", out);
    fputs(frame, out);
    fputs(runs, out);
    fputs(drawings, out);
    fputs(curves, out);
    put_colours(out);
    fputs(media, out);
    fputs("</style>\n", out);
}
