// SPDX-License-Identifier: Apache-2.0
//
// html_axis: gnuplot's shapes drawn as SVG paths, so that a contender looks here as it does in a plot of `locus eval`; and axes
// whose marks are few enough for a phone.
#include <math.h>
#include <string.h>

#include "testbed/base/json.h"
#include "testbed/report/page/html_chart.h"

enum { AXIS_HEIGHT = 20 };

// --- looks ---

// Without "#2", "@fault" and "%50". A path may have all these in it, and only the last of them at its end is none of it.
static void base_name(const char *name, char *out, size_t size)
{
    snprintf(out, size, "%s", name);
    if (strncmp(out, "malloc:", 7) != 0)
        out[strcspn(out, "#@%")] = '\0';
    char *share = strrchr(out, '%');
    if (share && share[1] && share[1 + strspn(share + 1, "0123456789")] == '\0')
        *share = '\0';
}

struct tb_arm_look tb_arm_look(const json_t *header, const char *key)
{
    static const struct tb_look neutral = {"", "#777777", 7};
    const json_t *arms = tb_member(header, "arms"), *arm;
    struct tb_arm_look out = {.key = key, .name = "", .look = &neutral};
    char name[96] = "", other[96];
    size_t i;
    json_array_foreach (arms, i, arm) {
        if (strcmp(tb_member_text(arm, "key"), key) == 0)
            base_name(out.name = tb_member_text(arm, "name"), name, sizeof name);
    }
    json_array_foreach (arms, i, arm) {
        base_name(tb_member_text(arm, "name"), other, sizeof other);
        if (name[0] && strcmp(name, other) == 0) {
            out.look = tb_look(name, (uint32_t)i);
            break;
        }
    }
    return out;
}

// gnuplot's point types as paths around 0, 0. Odd from 5 on: filled.
static void put_shape(FILE *out, const char *prefix, int shape, double r)
{
    static const struct {
        int corners;
        double turn; // of the first corner, from the top, in turns
    } polygons[] = {[2] = {4, 0.125}, [4] = {3, 0}, [5] = {3, 0.5}, [6] = {4, 0}, [7] = {5, 0}}; // by half the point type
    const char *open = prefix[0] == 'm' ? "hollow" : "outline"; // of samples that overlap each must be seen
    fprintf(out, "<path id=\"%s%d\" class=\"%s\" stroke=\"currentColor\" stroke-width=\"1.3\" d=\"", prefix, shape,
            shape >= 5 && shape % 2 == 1 ? "filled" : open);
    if (shape == 1 || shape == 3)
        fprintf(out, "M%.2f 0H%.2fM0 %.2fV%.2f", -r, r, -r, r);
    if (shape == 2 || shape == 3)
        fprintf(out, "M%.2f %.2fL%.2f %.2fM%.2f %.2fL%.2f %.2f", -0.7 * r, -0.7 * r, 0.7 * r, 0.7 * r, -0.7 * r, 0.7 * r, 0.7 * r,
                -0.7 * r);
    if (shape == 6 || shape == 7)
        fprintf(out, "M%.2f 0a%.2f %.2f 0 1 0 %.2f 0a%.2f %.2f 0 1 0 %.2f 0z", -0.9 * r, 0.9 * r, 0.9 * r, 1.8 * r, 0.9 * r,
                0.9 * r, -1.8 * r);
    int kind = shape / 2, corners = shape < 4 || kind == 3 ? 0 : polygons[kind].corners;
    for (int i = 0; i < corners; i++) {
        double angle = 2 * M_PI * (polygons[kind].turn + (double)i / corners);
        fprintf(out, "%c%.2f %.2f", i ? 'L' : 'M', 1.1 * r * sin(angle), -1.1 * r * cos(angle));
    }
    fputs(corners ? "z\"/>" : "\"/>", out);
}

void tb_html_shapes(FILE *out)
{
    fputs("<svg class=\"defs\" aria-hidden=\"true\"><defs>", out);
    for (int shape = 1; shape <= 15; shape++) {
        put_shape(out, "m", shape, 5); // marks
        put_shape(out, "s", shape, 3);   // samples
    }
    fputs("</defs></svg>\n", out);
}

void tb_html_mark(FILE *out, const struct tb_look *look)
{
    fprintf(out, "<svg class=\"mark k%s\" aria-hidden=\"true\"><use href=\"#m%d\" x=\"7\" y=\"7\"/></svg>", look->colour + 1,
            look->shape);
}

void tb_html_arm(FILE *out, const struct tb_arm_look *arm)
{
    tb_html_mark(out, arm->look);
    tb_html(out, " <b>@</b> @", arm->key, arm->name);
}

// --- axes ---

double tb_axis_at(const struct tb_axis *axis, double value)
{
    double share =
        axis->log ? log(value / axis->low) / log(axis->high / axis->low) : (value - axis->low) / (axis->high - axis->low);
    return 100 * fmin(fmax(share, 0), 1); // NAN: 0
}

static size_t linear_ticks(const struct tb_axis *axis, double ticks[])
{
    double rough = (axis->high - axis->low) / 4, power = pow(10, floor(log10(rough)));
    double step = rough / power < 1.5 ? power : rough / power < 3.5 ? 2 * power : rough / power < 7.5 ? 5 * power : 10 * power;
    size_t count = 0;
    for (double i = ceil(axis->low / step - 1e-9); i * step <= axis->high * (1 + 1e-12) && count < TB_TICKS_MAX; i++)
        ticks[count++] = i * step + 0.0; // no -0
    return count;
}

static size_t log_ticks(const struct tb_axis *axis, double ticks[])
{
    static const double steps[] = {1, 2, 5};
    size_t count = 0, stride = log10(axis->high / axis->low) > 1.7 ? 3 : 1; // more than that would touch each other on a phone
    for (double power = pow(10, floor(log10(axis->low))); power <= axis->high; power *= 10)
        for (size_t s = 0; s < 3; s += stride)
            if (power * steps[s] >= axis->low && power * steps[s] <= axis->high && count < TB_TICKS_MAX)
                ticks[count++] = power * steps[s];
    return count;
}

size_t tb_axis_ticks(const struct tb_axis *axis, double ticks[TB_TICKS_MAX])
{
    return axis->log ? log_ticks(axis, ticks) : linear_ticks(axis, ticks);
}

void tb_axis_grid(FILE *out, const struct tb_axis *axis)
{
    double ticks[TB_TICKS_MAX];
    size_t count = tb_axis_ticks(axis, ticks);
    for (size_t i = 0; i < count; i++)
        fprintf(out, "<line class=\"grid\" x1=\"%.2f%%\" x2=\"%.2f%%\" y2=\"100%%\"/>", tb_axis_at(axis, ticks[i]),
                tb_axis_at(axis, ticks[i]));
}

void tb_axis_row(FILE *out, const struct tb_axis *axis, const char *what)
{
    double ticks[TB_TICKS_MAX];
    size_t count = tb_axis_ticks(axis, ticks);
    fprintf(out, "<div class=\"row axis\"><span></span><svg height=\"%d\">", AXIS_HEIGHT);
    for (size_t i = 0; i < count; i++) {
        double x = tb_axis_at(axis, ticks[i]);
        fprintf(out, "<line class=\"tick\" x1=\"%.2f%%\" x2=\"%.2f%%\" y2=\"4\"/><text x=\"%.2f%%\" y=\"16\">%.6g</text>", x, x, x,
                ticks[i]);
    }
    tb_html(out, "</svg><span class=\"figure\">@</span></div>\n", what);
}
