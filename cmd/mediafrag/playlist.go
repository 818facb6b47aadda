package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mediafrag/mediafrag/formats"
)

// extensions are those of the media types that a clip of a playlist may have.
var extensions = map[string]string{
	"video/mp2t": ".ts", "video/mp4": ".mp4", "audio/mp4": ".m4a", "video/webm": ".webm", "audio/webm": ".webm",
	"audio/aac": ".aac", "audio/mpeg": ".mp3", "audio/ac3": ".ac3", "audio/eac3": ".ec3", "text/vtt": ".vtt",
}

// containers are what files of an extension are of, by the extension that is usual
// for it.
var containers = map[string][]string{
	".ts": {".m2ts", ".mts"}, ".mp4": {".m4a", ".m4v", ".m4s", ".mov", ".cmfv", ".cmfa"}, ".webm": {".mkv", ".mka"},
	".aac": {".adts"}, ".mp3": nil, ".ac3": nil, ".ec3": {".eac3"}, ".vtt": {".webvtt"},
}

// containerOf returns what files of an extension are of, "" where it is none of
// those.
func containerOf(ext string) string {
	ext = strings.ToLower(ext)
	for usual, all := range containers {
		if ext == usual || slices.Contains(all, ext) {
			return usual
		}
	}
	return ""
}

// isPlaylist reports whether a file's name is that of a playlist or manifest.
func isPlaylist(name string) bool {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".m3u8", ".m3u", ".mpd":
		return true
	}
	return false
}

// suit fits an output to what the clip of a playlist turned out to be: a derived
// name gets its extension. A given one that says another container is an error, for
// nothing else is written under it; one that says none a warning.
func (a *app) suit(o *output, j *job, mediaType string) error {
	ext, known := extensions[mediaType]
	if _, ok := j.resource.Media.(formats.Trimmer); !ok || !known || o.path == standardOutput {
		return nil
	}
	have := filepath.Ext(o.path)
	switch is := containerOf(have); {
	case o.derived && isPlaylist(o.path):
		o.path = strings.TrimSuffix(o.path, have) + ext
		return o.check()
	case have == "" || o.stream || is == containerOf(ext):
	case is != "":
		base := strings.TrimSuffix(o.path, have)
		return fmt.Errorf("%w: the selection is %s, and no file %s; name it %s, or a folder with -o %s/ for a playlist and its segments",
			formats.ErrUnsupported, mediaType, have, base+ext, base)
	default:
		j.warnings = append(j.warnings, fmt.Sprintf("%s holds %s, for which %s is usual", o.path, mediaType, ext))
	}
	return nil
}

// suited is a file of a live clip, of which the first bytes tell what it is.
type suited struct {
	io.Writer
	check func() error // nil: it was
}

func (w *suited) Write(p []byte) (int, error) {
	if w.check != nil {
		if err := w.check(); err != nil {
			return 0, err
		}
		w.check = nil
	}
	return w.Writer.Write(p)
}

// getTrimmed writes a playlist that points at the origin, and those that it
// names beside it.
func (a *app) getTrimmed(ctx context.Context, j *job, o *output) (clipJSON, error) {
	trimmer, ok := j.resource.Media.(formats.Trimmer)
	if !ok {
		return clipJSON{}, fmt.Errorf("%w: %s is one file, not a playlist that could be trimmed; give -o the name of a media file",
			formats.ErrUnsupported, j.resource.Info().Format)
	}
	s, err := a.selection(j)
	if err != nil {
		return clipJSON{}, err
	}
	folder, name := filepath.Split(o.path)
	files, err := trimmer.Trim(ctx, s, name)
	if err != nil {
		return clipJSON{}, err
	}
	outputs := make([]*output, len(files))
	for i, f := range files { // find out first whether each has a place
		outputs[i] = &output{path: filepath.Join(folder, filepath.FromSlash(f.Name)), force: o.force}
		if err := outputs[i].check(); err != nil {
			return clipJSON{}, err
		}
	}
	var total int64
	for i := len(files) - 1; i >= 0; i-- { // the one that names the others last
		clip := j.resource.Deliver(ctx, files[i].Plan)
		err := outputs[i].write(func(file *os.File) error {
			n, err := clip.Download(ctx, file)
			total += n
			return err
		})
		j.read(clip.Damage())
		clip.Close()
		if err != nil {
			return clipJSON{}, err
		}
	}
	j.warnings = append(j.warnings, texts(files[0].Plan.Warnings)...)
	return j.clipJSON(files[0].Plan, false, &o.path, total), nil
}

// isLive reports whether a medium is a stream of which more is to come.
func isLive(j *job) bool {
	_, ok := j.resource.Media.(formats.Live)
	return ok && !j.resource.Info().Timed
}

// getLive writes a selection of a live stream as it comes.
func (a *app) getLive(ctx context.Context, j *job, o *output) (clipJSON, error) {
	if o.derived {
		return clipJSON{}, usagef("the stream is live: name the file with -o, such as -o clip.ts")
	}
	s, err := a.selection(j)
	if err != nil {
		return clipJSON{}, err
	}
	mediaType := j.resource.Media.(formats.Live).MediaType(ctx, s)
	if err := a.suit(o, j, mediaType); err != nil { // before it is waited for
		return clipJSON{}, err
	}
	live, err := j.resource.Follow(ctx, s)
	if err != nil {
		return clipJSON{}, err
	}
	defer live.Close()
	d := j.delivery(&formats.Plan{}, nil)
	var n int64
	switch {
	case o.path == standardOutput:
		n, err = live.WriteTo(&countedStream{Writer: a.stdout, delivery: d})
	case o.stream:
		var file *os.File
		if file, err = os.OpenFile(o.path, os.O_WRONLY, 0); err != nil {
			return clipJSON{}, err
		}
		n, err = live.WriteTo(&countedStream{Writer: file, delivery: d})
		if closing := file.Close(); err == nil {
			err = closing
		}
	default:
		err = o.write(func(file *os.File) error {
			// The clip waits while it is written: its plan can be read.
			to := &suited{Writer: file}
			if mediaType == "" {
				to.check = func() error { return a.suit(o, j, live.Plan.MediaType) }
			}
			n, err = live.WriteTo(&countedStream{Writer: to, delivery: d})
			return err
		})
	}
	if err != nil {
		return clipJSON{}, err
	}
	j.warnings = append(j.warnings, texts(live.Plan.Warnings)...)
	j.read(live.Damage())
	return j.clipJSON(live.Plan, false, &o.path, n), nil
}
