package mp4

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/seek"
)

// Name is the container's name in [formats.Info].
const Name = "mp4"

// Kinds of index that [formats.Info] reports.
const (
	MoovHead formats.Index = "moov-head" // moov before the media
	MoovTail formats.Index = "moov-tail" // moov behind the media
	Sidx     formats.Index = "sidx"      // fragments, and an index of segments over all of them
	Mfra     formats.Index = "mfra"      // fragments, and their random access points at the file's end
	None     formats.Index = "none"      // fragments without an index that covers them
)

// Limits on what a file's top level may look like.
const (
	maxTopBoxes = 4096    // boxes before the moov
	headerBytes = 16      // the longest box header
	maxFtyp     = 1 << 16 // bytes of an ftyp
)

// What is read where a box begins that is not held: it may be the moov.
const (
	lookBytes = 64 << 10 // at least
	restBytes = 1 << 20  // behind an mdat all of the rest, if it is not more
	restShare = 16       // or no more than 1/16 of the file
)

// Format recognises and opens MP4 and QuickTime files.
type Format struct{}

var _ formats.Format = Format{}

// Name returns "mp4".
func (Format) Name() string { return Name }

// Detect reports whether head begins with a box that stands at the beginning
// of such files, or of segments of them.
func (Format) Detect(head []byte, _ seek.Info) bool {
	typ, _, size, ok := readHeader(head)
	if !ok || size != -1 && size < 8 {
		return false
	}
	switch typ {
	case "ftyp", "moov", "mdat", "wide", "free", "skip", "pnot", "styp", "moof", "sidx", "emsg", "prft":
		return true
	}
	return false
}

// Open finds the moov and reads it.
func (Format) Open(ctx context.Context, w *seek.Window, env formats.Env) (formats.Media, error) {
	f := &file{window: w, limits: env.Limits.WithDefaults()}
	at, header, size, err := f.findMoov(ctx)
	if err != nil {
		return nil, err
	}
	m, err := f.openMoov(ctx, at, header, size)
	if err != nil {
		return nil, err
	}
	f.movie, f.placed = m, f.index
	if m.fragmented {
		return f, f.findIndex(ctx)
	}
	f.end, f.ends = m.length(), true
	return f, nil
}

// file is an opened MP4 file.
type file struct {
	window *seek.Window
	limits formats.Limits
	ftyp   []byte // the whole box, nil where there is none
	brand  string // ftyp's major brand
	index  formats.Index
	placed formats.Index // where the moov is: MoovHead or MoovTail
	movie  *movie

	// of a moov that is read in parts; nil: movie is all of it
	partial *partial
	mu      sync.Mutex
	whole   *movie // read whole after all

	// of a fragmented file
	locator   locator
	indexed   int64         // bytes of the index in front of the fragments, or behind them
	first     int64         // where the fragments, or what comes right before them, begin
	search    locator       // that finds them without an index; nil: not needed so far
	firstMoof int64         // bytes of the first moof, where they are in hand; else 0
	end       fragment.Time // of the presentation, as the index says
	ends      bool          // end is known
}

var _ formats.Media = (*file)(nil)

// findMoov walks the top level until the moov. What the window holds costs
// nothing, so a moov in the first or the last bytes is found without another
// request; behind an mdat, the rest of the file is asked for at once, since it
// is the moov and little else.
func (f *file) findMoov(ctx context.Context) (off int64, length int, n int64, err error) {
	var at int64
	media := false
	f.index = MoovHead
	for range maxTopBoxes {
		head, err := f.look(ctx, at)
		if err != nil {
			return 0, 0, 0, err
		}
		if len(head) < 8 {
			return 0, 0, 0, f.noMoov(at, media)
		}
		typ, header, size, ok := readHeader(head)
		if !ok || size == 0 {
			return 0, 0, 0, damaged(printable(typ), at, "box size smaller than its header")
		}
		if size == -1 {
			if size = f.window.Info().Size - at; f.window.Info().Size < 0 {
				return 0, 0, 0, f.noMoov(at, true)
			}
		}
		switch typ {
		case "moov":
			return at, header, size, nil
		case "ftyp":
			if err := f.readFtyp(ctx, at, size); err != nil {
				return 0, 0, 0, err
			}
		case "mdat":
			media = true
			f.index = MoovTail
		case "moof", "sidx":
			return 0, 0, 0, unsupported(typ, at, "open the initialization segment instead", "a media segment without its moov")
		}
		if at+size < at {
			return 0, 0, 0, damaged(printable(typ), at, "box size wraps around")
		}
		at += size
	}
	return 0, 0, 0, damaged("", at, "no moov among the first %d boxes", maxTopBoxes)
}

// look returns the first bytes of the box at an offset. Where they are not held
// it reads on, since this may be the moov: behind the media all that is left,
// if that is little, for it is the moov and not much else.
func (f *file) look(ctx context.Context, at int64) ([]byte, error) {
	header := seek.Range{Offset: at, Length: headerBytes}
	if head, ok := f.window.Held(header); ok {
		return head, nil
	}
	wanted := seek.Range{Offset: at, Length: lookBytes}
	size := f.window.Info().Size
	if rest := size - at; f.index == MoovTail && rest > lookBytes && rest <= max(restBytes, size/restShare) && !f.inParts(rest) {
		wanted.Length = rest
		f.inHalves(wanted)
	}
	got, err := f.window.ReadRange(ctx, wanted, seek.Index, "moov")
	return got[:min(len(got), headerBytes)], err
}

// still are the brands of files that hold pictures without a time (ISO/IEC
// 23008-12, AVIF).
var still = []string{"avif", "heic", "heix", "heim", "heis", "mif1"}

func (f *file) noMoov(at int64, media bool) error {
	if slices.Contains(still, f.brand) {
		return unsupported("ftyp", 0, "a still picture has no part in time", "a file of the brand %q without a moov", f.brand)
	}
	if media {
		return damaged("", at, "the file ends without a moov: its recording or transfer was not finished")
	}
	return damaged("", at, "the file ends without a moov")
}

func (f *file) readFtyp(ctx context.Context, at, size int64) error {
	if size > maxFtyp {
		return damaged("ftyp", at, "%d bytes long", size)
	}
	raw, err := f.window.ReadRange(ctx, seek.Range{Offset: at, Length: size}, seek.Index, "ftyp")
	if err != nil {
		return err
	}
	if int64(len(raw)) < size || size < 16 {
		return damaged("ftyp", at, "cut off")
	}
	f.ftyp, f.brand = raw, string(raw[8:12])
	return nil
}

// openMoov reads the moov, whole or what info needs of it.
func (f *file) openMoov(ctx context.Context, at int64, header int, size int64) (*movie, error) {
	if f.inParts(size) {
		p := &partial{f, at, size, header}
		m, err := p.open(ctx)
		if err == nil && !m.fragmented {
			f.partial = p
			return m, nil
		}
		if err != nil && !errors.Is(err, errWhole) {
			return nil, err
		}
	}
	raw, err := f.readMoov(ctx, at, size)
	if err != nil {
		return nil, err
	}
	return readMovie(box{typ: "moov", off: at, header: header, raw: raw, path: "moov"}, f.limits)
}

// readMoov reads the moov whole.
func (f *file) readMoov(ctx context.Context, at, size int64) ([]byte, error) {
	if size > f.limits.Index {
		return nil, &formats.Error{
			Container: Name, Element: "moov", Offset: at, Err: seek.ErrLimit,
			Problem: "larger than the limit for an index",
			Hint:    "raise Limits.Index if the file is trusted",
		}
	}
	f.inHalves(seek.Range{Offset: at, Length: size})
	raw, err := f.window.ReadRange(ctx, seek.Range{Offset: at, Length: size}, seek.Index, "moov")
	if err != nil {
		return nil, err
	}
	if int64(len(raw)) < size {
		return nil, damaged("moov", at, "cut off after %d of %d bytes", len(raw), size)
	}
	return raw, nil
}

// inHalves begins to fetch a large index over both connections that head and tail
// have warmed.
func (f *file) inHalves(r seek.Range) {
	if half := r.Length / 2; r.Length > smallMoov {
		f.window.Prefetch(seek.Request{Range: seek.Range{Offset: r.Offset, Length: half}, Purpose: seek.Index, Note: "moov"})
		f.window.Prefetch(seek.Request{Range: seek.Range{Offset: r.Offset + half, Length: r.Length - half}, Purpose: seek.Index, Note: "moov"})
	}
}

// printable makes four bytes of a file fit for a message.
func printable(typ string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, typ)
}
