// SPDX-License-Identifier: Apache-2.0
//
// trace_input: the bytes of a trace, from a file or from standard input, unpacked as they are read. No more than a buffer is read
// ahead, so little is read of a large file, or unpacked of what gzip or zstd have made small, if little is asked for.

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "testbed/workload/formats/trace_read.h"

#define RAW_BYTES (1u << 16)
#define GZIP_ONLY (15 + 16)     // of inflateInit2(): the largest window, and a gzip header

struct trace_input {
    int fd;
    bool ended;                 // nothing follows what is in `raw`
    bool whole;                 // packed: no frame has begun that did not end
    z_stream *gzip;             // NULL: not packed by it
    ZSTD_DStream *zstd;
    size_t at, bytes;           // of `raw`: the next one to unpack, and the end
    unsigned char raw[RAW_BYTES];
};

// Reads until there are `least` bytes, or the file ends.
static int fill(struct trace_input *input, size_t least)
{
    if (input->at == input->bytes)
        input->at = input->bytes = 0;
    while (!input->ended && input->bytes - input->at < least) {
        ssize_t got = read(input->fd, input->raw + input->bytes, RAW_BYTES - input->bytes);
        if (got < 0 && errno != EINTR)
            return -errno;
        input->ended = got == 0;
        input->bytes += got > 0 ? (size_t)got : 0;
    }
    return 0;
}

static int gzip_open(struct trace_input *input)
{
    input->gzip = calloc(1, sizeof *input->gzip);
    if (input->gzip && inflateInit2(input->gzip, GZIP_ONLY) == Z_OK)
        return 0;
    free(input->gzip);
    input->gzip = NULL;
    return -ENOMEM;
}

int trace_input_open(const char *path, struct trace_input **out)
{
    static const unsigned char gzip[] = {0x1f, 0x8b}, zstd[] = {0x28, 0xb5, 0x2f, 0xfd};
    struct trace_input *input = calloc(1, sizeof *input);
    *out = input;
    if (!input)
        return -ENOMEM;
    input->whole = true;
    input->fd = strcmp(path, "-") == 0 ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    int error = input->fd < 0 ? -errno : fill(input, sizeof zstd);
    if (error)
        return error;
    if (input->bytes >= sizeof gzip && memcmp(input->raw, gzip, sizeof gzip) == 0)
        return gzip_open(input);
    if (input->bytes >= sizeof zstd && memcmp(input->raw, zstd, sizeof zstd) == 0 && !(input->zstd = ZSTD_createDStream()))
        return -ENOMEM;
    return 0;
}

// Unpacks some of `raw`. The bytes that came of it, or -errno. Each leaves no input, or no room, or the end of a frame.
static ssize_t unpack_gzip(struct trace_input *input, char *to, size_t room)
{
    z_stream *stream = input->gzip;
    unsigned most = room < RAW_BYTES ? (unsigned)room : RAW_BYTES;
    if (input->whole && inflateReset(stream) != Z_OK)
        return -EBADMSG;
    stream->next_in = input->raw + input->at;
    stream->avail_in = (unsigned)(input->bytes - input->at);
    stream->next_out = (unsigned char *)to;
    stream->avail_out = most;
    int result = inflate(stream, Z_NO_FLUSH);
    input->at = input->bytes - stream->avail_in;
    input->whole = result == Z_STREAM_END;
    if (result == Z_OK || result == Z_STREAM_END)
        return (ssize_t)(most - stream->avail_out);
    return result == Z_MEM_ERROR ? -ENOMEM : -EBADMSG;
}

static ssize_t unpack_zstd(struct trace_input *input, char *to, size_t room)
{
    ZSTD_inBuffer from = {input->raw, input->bytes, input->at};
    ZSTD_outBuffer out = {to, room, 0};
    size_t left = ZSTD_decompressStream(input->zstd, &out, &from);
    input->at = from.pos;
    input->whole = left == 0;
    return ZSTD_isError(left) ? -EBADMSG : (ssize_t)out.pos;
}

static ssize_t unpack_none(struct trace_input *input, char *to, size_t room)
{
    size_t bytes = input->bytes - input->at < room ? input->bytes - input->at : room;
    memcpy(to, input->raw + input->at, bytes);
    input->at += bytes;
    return (ssize_t)bytes;
}

ssize_t trace_input_read(struct trace_input *input, char *to, size_t room)
{
    size_t bytes = 0;
    while (bytes < room) {
        int error = fill(input, 1);
        if (error)
            return error;
        if (input->at == input->bytes && input->whole)
            break;
        bool cut = input->at == input->bytes; // unless what was unpacked before is still to be had
        ssize_t got = (input->gzip ? unpack_gzip : input->zstd ? unpack_zstd : unpack_none)(input, to + bytes, room - bytes);
        if (got < 0 || (got == 0 && cut && !input->whole))
            return got < 0 ? got : -EBADMSG;
        bytes += (size_t)got;
    }
    return (ssize_t)bytes;
}

const char *trace_input_packing(const struct trace_input *input)
{
    return input->gzip ? "gzip" : input->zstd ? "zstd" : "";
}

void trace_input_close(struct trace_input *input)
{
    if (!input)
        return;
    if (input->gzip)
        inflateEnd(input->gzip);
    free(input->gzip);
    ZSTD_freeDStream(input->zstd);
    if (input->fd > STDIN_FILENO)
        close(input->fd);
    free(input);
}
