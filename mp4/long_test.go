package mp4_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/internal/budget"
	"github.com/mediafrag/mediafrag/internal/seektest"
	"github.com/mediafrag/mediafrag/internal/tools"
	"github.com/mediafrag/mediafrag/mp4"
	"github.com/mediafrag/mediafrag/seek"
)

// longFilm is a film to build of which only the moov is in memory: pictures at
// 60 a second with B-frames and sound in 1,024 samples at 48 kHz, as the
// corpus's ten-hour file has them.
type longFilm struct {
	seconds  int
	moovLast bool
	dense    bool // a ctts entry for each sample
	depends  bool // an sdtp
	allSync  bool // no stss
	listed   bool // each picture is a sync sample, and listed
	zero     bool // from 0 on
	uneven   bool // those are listed only in the first half of the film
	varied   bool // an stts entry for each picture
	compact  bool // stz2 of 16 bits
	tiny     bool // stz2 of 4 bits
	unsure   bool // the mdhd says that the media lasts longer than it does
	pcm      bool // sound of one size, in chunks of half a second
	grouped  bool // sbgp of open groups, and of layers nearly without runs
	parts    int  // a subs for each picture with so many parts; negative: of so many numbers
	locked   lock // encrypted
	rolls    bool // a short sbgp behind all other tables
	twice    bool // two tracks of sound
	longer   int  // how many more pictures a chunk may have
	short    bool // the last chunk of pictures has fewer than the stsc says
}

// lock is where a film's encryption information is.
type lock int

const (
	unlocked        lock = iota
	lockedInSenc         // with a saiz and a saio
	lockedInTrak         // the same, the senc in the trak
	lockedInSencOne      // vectors alone, without a saiz
	lockedInMedia        // in front of each chunk: a place for each in the saio
	lockedInOne          // in front of all media, one place
)

// numbers is a stream of numbers that look random and are the same every time.
type numbers uint64

func (n *numbers) below(m int) int {
	*n = *n*6364136223846793005 + 1442695040888963407
	return int(uint64(*n) >> 33 % uint64(m))
}

// longTrack is the tables of a track while they are written.
type longTrack struct {
	sizes, stsc, chunks, ctts, stss, sdtp, stts []byte
	samples, lastSamples, lasts                 int
}

func (t *longTrack) chunk(at int64, samples int) {
	t.chunks = be.AppendUint32(t.chunks, uint32(at))
	if samples != t.lastSamples {
		t.stsc = append(t.stsc, u32(uint32(len(t.chunks)/4), uint32(samples), 1)...)
		t.lastSamples = samples
	}
}

// build returns the film as a virtual resource, and the length of its moov.
func (f longFilm) build() (*seektest.Source, int64) {
	var video, sound longTrack
	var r numbers = 1
	const gop = 250
	start := int64(32 + 16) // ftyp, header of the mdat
	var moov []byte
	var at int64
	for range 2 { // the second time, with the length of a moov in front
		video, sound, r = longTrack{}, longTrack{}, 1
		at = start
		for second := range f.seconds {
			for pictures := 0; pictures < 60; {
				n := min(1+r.below(2+f.longer), 60-pictures) // chunks as short as ffmpeg makes them
				pictures += n
				video.chunk(at, n)
				for range n {
					at += f.picture(&video, &r, gop)
				}
				count := (48000*second+800*pictures)/1024 - sound.samples
				if f.pcm {
					count = 48000*second + 800*pictures - sound.samples
				}
				if count == 0 {
					continue
				}
				sound.chunk(at, count)
				for range count {
					size := 6 + r.below(200)
					if f.pcm {
						size = 4
					} else {
						sound.sizes = be.AppendUint32(sound.sizes, uint32(size))
					}
					at += int64(size)
				}
				sound.samples += count
			}
		}
		if f.short {
			video.stsc[len(video.stsc)-5] += 2
		}
		moov = f.moov(&video, &sound)
		if f.moovLast {
			return f.place(start, at, moov)
		}
		start = 32 + int64(len(moov)) + 16
	}
	return f.front(moov, start, at)
}

// picture adds a picture: every second to fourth is not a reference and is
// presented at once.
func (f longFilm) picture(t *longTrack, r *numbers, gop int) int64 {
	n := t.samples
	t.samples++
	size := 30 + r.below(300)
	if n%gop == 0 {
		size *= 10
	}
	if f.tiny {
		size = 1 + r.below(15)
	}
	if f.varied {
		duration := 900 + r.below(200)
		t.lasts += duration
		t.stts = append(t.stts, u32(1, uint32(duration))...)
	}
	if n%gop == 0 || f.listed && (!f.uneven || n < 30*f.seconds) {
		first := 1
		if f.zero {
			first = 0
		}
		t.stss = be.AppendUint32(t.stss, uint32(n+first))
	}
	t.sizes = be.AppendUint32(t.sizes, uint32(size))
	t.sdtp = append(t.sdtp, byte(n%3))
	offset := uint32([]int{1000, 2000, 1000, 0}[r.below(4)])
	if last := len(t.ctts) - 8; !f.dense && last >= 0 && be.Uint32(t.ctts[last+4:]) == offset {
		be.PutUint32(t.ctts[last:], be.Uint32(t.ctts[last:])+1)
	} else {
		t.ctts = append(t.ctts, u32(1, offset)...)
	}
	return int64(size)
}

func (f longFilm) moov(video, sound *longTrack) []byte {
	mvhd := mkbox("mvhd", u32(0, 0, 0, 1000, uint32(1000*f.seconds), 0x10000), make([]byte, 12), matrix(), make([]byte, 24), u32(3))
	entry := f.entry("avc1", make([]byte, 6), []byte{0, 1}, make([]byte, 16), []byte{0, 64, 0, 36}, make([]byte, 50))
	v := f.trak(1, "vide", 60000, 1000, video, entry)
	entry = f.entry("mp4a", make([]byte, 6), []byte{0, 1}, make([]byte, 8), []byte{0, 2, 0, 16, 0, 0, 0, 0}, u32(48000<<16))
	duration := uint32(1024)
	if f.pcm {
		duration = 1
		copy(entry[4:], "sowt")
	}
	s := f.trak(2, "soun", 48000, duration, sound, entry)
	if f.twice {
		s = append(s, f.trak(3, "soun", 48000, duration, sound, entry)...)
	}
	return mkbox("moov", mvhd, v, s, mkbox("udta", mkbox("name", []byte("A long film"))))
}

func (f longFilm) trak(id uint32, handler string, timescale, duration uint32, t *longTrack, entry []byte) []byte {
	if t.stts == nil {
		t.lasts, t.stts = t.samples*int(duration), u32(uint32(t.samples), duration)
	}
	shown := uint32(1000 * t.lasts / int(timescale))
	if f.unsure {
		t.lasts += 5 * int(timescale)
	}
	tkhd := mkbox("tkhd", u32(3, 0, 0, id, 0, shown), make([]byte, 16), matrix(), u32(64<<16, 36<<16))
	mdhd := mkbox("mdhd", u32(0, 0, 0, timescale, uint32(t.lasts), 0))
	hdlr := mkbox("hdlr", u32(0, 0), []byte(handler), make([]byte, 13))
	tables := [][]byte{
		mkbox("stsd", u32(0, 1), entry),
		mkbox("stts", u32(0, uint32(len(t.stts)/8)), t.stts),
	}
	if handler == "vide" {
		if !f.allSync {
			tables = append(tables, mkbox("stss", u32(0, uint32(len(t.stss)/4)), t.stss))
		}
		if f.depends {
			tables = append(tables, mkbox("sdtp", u32(0), t.sdtp))
		}
		tables = append(tables, mkbox("ctts", u32(0, uint32(len(t.ctts)/8)), t.ctts))
	}
	sizes := mkbox("stsz", u32(0, 0, uint32(t.samples)), t.sizes)
	if len(t.sizes) == 0 {
		sizes = mkbox("stsz", u32(0, 4, uint32(t.samples)))
	}
	if f.compact && handler == "vide" {
		packed := make([]byte, 0, len(t.sizes)/2)
		for i := 2; i < len(t.sizes); i += 4 {
			packed = append(packed, t.sizes[i:i+2]...)
		}
		sizes = mkbox("stz2", u32(0, 16, uint32(t.samples)), packed)
	}
	if f.tiny && handler == "vide" {
		packed := make([]byte, (t.samples+1)/2)
		for i := range t.samples {
			packed[i/2] |= t.sizes[4*i+3] << (4 * (1 - i%2))
		}
		sizes = mkbox("stz2", u32(0, 4, uint32(t.samples)), packed)
	}
	tables = append(tables,
		mkbox("stsc", u32(0, uint32(len(t.stsc)/12)), t.stsc), sizes,
		mkbox("stco", u32(0, uint32(len(t.chunks)/4)), t.chunks))
	if handler == "vide" {
		tables = append(tables, f.groups(t.samples), f.subs(t.samples))
	}
	if f.rolls {
		tables = append(tables, mkbox("sgpd", u32(1<<24), []byte("roll"), u32(2, 1), []byte{0xff, 0xff}),
			mkbox("sbgp", u32(0), []byte("roll"), u32(1, uint32(t.samples), 1)))
	}
	more, senc := f.lock(t)
	edits := mkbox("edts", mkbox("elst", u32(0, 1, shown, 1000, 0x10000)))
	return mkbox("trak", tkhd, edits, mkbox("mdia", mdhd, hdlr, mkbox("minf", mkbox("stbl", append(tables, more)...))), senc)
}

// groups writes an sbgp that names pictures now and then and ends before the last
// one, and one with an entry for nearly each picture.
func (f longFilm) groups(samples int) []byte {
	if !f.grouped {
		return nil
	}
	describe := func(typ string, entries ...byte) []byte {
		return mkbox("sgpd", u32(1<<24), []byte(typ), u32(1, uint32(len(entries))), entries)
	}
	var access, layers []byte
	n := uint32(0)
	every := 250
	if f.seconds < 3600 { // so that it is long enough to be sliced
		every = 25
	}
	for i := every; i <= samples; i += every {
		access = append(access, u32(uint32(every-1), 0, 1, 1)...)
		n += 2
	}
	rest := uint32(samples)
	entries := uint32(0)
	var r numbers = 7
	for last := 0; rest > 0; entries++ {
		count := min(rest, uint32(1+r.below(2)))
		last = (last + 1 + r.below(2)) % 3
		layers = append(layers, u32(count, uint32(last+1))...)
		rest -= count
	}
	return slices.Concat(
		describe("rap ", 0), mkbox("sbgp", u32(0), []byte("rap "), u32(n), access),
		describe("tele", 0, 0x80, 0), mkbox("sbgp", u32(1<<24), []byte("tele"), u32(5, entries), layers))
}

// subs writes what is said of the parts of pictures.
func (f longFilm) subs(samples int) []byte {
	if f.parts == 0 {
		return nil
	}
	var entries []byte
	for i := range samples {
		n := f.parts
		if n < 0 {
			n = 1 + 2*(i%-f.parts) // for two numbers two on average, of which the length of the table alone speaks
		}
		entries = append(append(entries, u32(1)...), 0, byte(n))
		for range n {
			entries = append(entries, 0, byte(1+i%20), byte(i), 0, 0, 0, 0, 0)
		}
	}
	return mkbox("subs", u32(0, uint32(samples)), entries)
}

// lock writes the encryption information of a track: boxes of the stbl, and of
// the trak.
func (f longFilm) lock(t *longTrack) (stbl, trak []byte) {
	if f.locked == unlocked {
		return nil, nil
	}
	var info, sizes, places []byte
	flags := uint32(2)
	for i := range t.samples {
		info = be.AppendUint64(info, uint64(i)<<8)
		n := 0
		if f.locked != lockedInSencOne {
			n = 1 + (i*7919>>3)%3
			info = append(info, 0, byte(n))
			info = append(info, make([]byte, 6*n)...)
			n = 2 + 6*n
		}
		sizes = append(sizes, byte(8+n))
	}
	saiz := mkbox("saiz", u32(0), []byte{0}, u32(uint32(t.samples)), sizes)
	switch f.locked {
	case lockedInSencOne:
		return mkbox("senc", u32(0, uint32(t.samples)), info), nil
	case lockedInMedia:
		places = t.chunks
	default:
		places = t.chunks[:4]
	}
	stbl = append(mkbox("saio", u32(0, uint32(len(places)/4)), places), saiz...)
	switch senc := mkbox("senc", u32(flags, uint32(t.samples)), info); f.locked {
	case lockedInSenc:
		return append(senc, stbl...), nil
	case lockedInTrak:
		return stbl, senc
	}
	return stbl, nil
}

// entry returns a sample entry, encrypted where the film is.
func (f longFilm) entry(typ string, fields ...[]byte) []byte {
	if f.locked == unlocked {
		return mkbox(typ, fields...)
	}
	locked := map[string]string{"avc1": "encv", "mp4a": "enca"}[typ]
	return mkbox(locked, append(fields, mkbox("sinf", mkbox("frma", []byte(typ)), mkbox("schm", u32(0), []byte("cenc"), u32(0x10000)),
		mkbox("schi", mkbox("tenc", u32(0, 0x00000108), make([]byte, 16)))))...)
}

// place puts the moov behind the media.
func (f longFilm) place(start, end int64, moov []byte) (*seektest.Source, int64) {
	head := append(mkbox("ftyp", []byte("isom"), u32(512), []byte("isomiso2mp41avc1")[:12], u32(0)), u32(1)...)
	head = append(append(head, "mdat"...), be.AppendUint64(nil, uint64(end-32))...)
	content := seektest.Sparse(seektest.Fill(seektest.Pattern), seektest.Piece{Data: head}, seektest.Piece{Offset: end, Data: moov})
	return seektest.Virtual(end+int64(len(moov)), content), int64(len(moov))
}

// front puts the moov before the media, which lie at [start, end).
func (f longFilm) front(moov []byte, start, end int64) (*seektest.Source, int64) {
	head := mkbox("ftyp", []byte("isom"), u32(512), []byte("isomiso2mp41avc1")[:12], u32(0))
	head = append(append(head, moov...), u32(1)...)
	head = append(append(head, "mdat"...), be.AppendUint64(nil, uint64(end-start+16))...)
	return seektest.Virtual(end, seektest.Sparse(seektest.Fill(seektest.Pattern), seektest.Piece{Data: head})), int64(len(moov))
}

// longFilms are films with long tables, in all their forms.
var longFilms = map[string]longFilm{
	"plain":     {seconds: 200},
	"dense":     {seconds: 150, dense: true},
	"depends":   {seconds: 150, depends: true},
	"all sync":  {seconds: 150, allSync: true},
	"pcm":       {seconds: 150, pcm: true},
	"listed":    {seconds: 150, listed: true},
	"rolls":     {seconds: 100, listed: true, rolls: true},
	"16 bits":   {seconds: 100, listed: true, compact: true, longer: 2},
	"two":       {seconds: 100, twice: true},
	"two pcm":   {seconds: 100, twice: true, pcm: true},
	"zero":      {seconds: 100, listed: true, zero: true},
	"uneven":    {seconds: 150, listed: true, uneven: true},
	"varied":    {seconds: 200, varied: true},
	"unsure":    {seconds: 300, varied: true, unsure: true},
	"tiny":      {seconds: 281, tiny: true},
	"compact":   {seconds: 150, compact: true, dense: true},
	"all dense": {seconds: 150, compact: true, dense: true, depends: true},
	"groups":    {seconds: 401, grouped: true},
	"parts":     {seconds: 60, parts: 1},
	"any parts": {seconds: 60, parts: -2},
	"7 numbers": {seconds: 60, parts: -7},
	"senc":      {seconds: 200, locked: lockedInSenc},
	"trak senc": {seconds: 200, locked: lockedInTrak},
	"vectors":   {seconds: 60, locked: lockedInSencOne},
	"in media":  {seconds: 200, locked: lockedInMedia},
	"in one":    {seconds: 200, locked: lockedInOne},
}

// TestPartsLong compares plans, whole and in parts, where the tables are long
// enough to be sliced, in all their forms.
func TestPartsLong(t *testing.T) {
	for name, f := range longFilms {
		t.Run(name, func(t *testing.T) {
			f.moovLast = name == "senc"
			data := f.bytes(t)
			whole := name == "zero" // that is not known of any part
			if n := samePlans(t, data, full(4, 2)); (n > 0) != whole {
				t.Errorf("the moov was read whole after all %d times; want that: %v", n, whole)
			}
		})
	}
}

// TestPartsShort compares plans, whole and in parts, where the last chunk has fewer
// samples than its entry says: counted from the end, others are in chunks that they
// are not in. That shows in chunks that overlap, and the moov is read whole.
func TestPartsShort(t *testing.T) {
	if n := samePlans(t, longFilm{seconds: 150, short: true}.bytes(t), full(4, 3)); n == 0 {
		t.Error("the moov was read in parts every time")
	}
}

// bytes returns the film.
func (f longFilm) bytes(t *testing.T) []byte {
	t.Helper()
	source, _ := f.build()
	data := make([]byte, source.Info.Size)
	if _, err := source.Content.ReadAt(data, 0); err != nil {
		t.Fatal(err)
	}
	return data
}

// TestPartsTrips counts the round trips to the first media byte in films of a
// quarter of an hour whose tables are all read in slices: early in the film, in its
// middle and late, with the moov in front and at the end.
func TestPartsTrips(t *testing.T) {
	for name, f := range longFilms {
		for _, f.moovLast = range []bool{false, true}[:full(2, 1)] {
			if f.seconds = 900; f.moovLast {
				name += ", moov last"
			}
			seektest.Counted(t, name, func(t *testing.T) {
				source, _ := f.build()
				source.Latency = 30 * time.Millisecond
				var early int64
				for _, at := range []float64{74, 816, 10, 430}[:full(4, 2)] {
					got := f.cost(t, source, formats.Limits{Whole: 1}, at)
					t.Logf("at %g s: %d bytes in %d requests, %d round trips", at, got.Bytes, got.Requests, got.FirstMediaTrips)
					if got.FirstMediaTrips > f.trips() {
						t.Errorf("at %g s: %d round trips to the first media byte, want at most %d", at, got.FirstMediaTrips, f.trips())
					}
					switch { // tables are added up from the nearer end
					case at == 74:
						early = got.Bytes
					case at == 816 && got.Bytes > early*3/2:
						t.Errorf("%d bytes late in the film, %d as early", got.Bytes, early)
					}
				}
			})
		}
	}
}

// trips is how many round trips it may take until the first media byte.
func (f longFilm) trips() int {
	misled := 0
	if f.uneven || f.parts == -2 {
		misled = budget.TripsMisled
	}
	if f.moovLast {
		return budget.TripsMP4Tail + misled
	}
	return budget.TripsMP4Big + misled
}

// cost returns what it costs to open the film and to read ten seconds of it.
func (f longFilm) cost(t *testing.T, source *seektest.Source, limits formats.Limits, at float64) seek.Transfer {
	t.Helper()
	o, err := openLimited(t, source, limits)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := o.Plan(t.Context(), between(at, at+10))
	if err != nil {
		t.Fatal(err)
	}
	r := seek.NewReader(t.Context(), plan.Parts, o, 0)
	defer r.Close()
	first := plan.MediaOffset() + 1
	if _, err := io.CopyN(discard{}, r, first); err != nil {
		t.Fatal(err)
	}
	o.Totals.FirstMediaByte()
	if n, err := r.WriteTo(discard{}); err != nil || first+n != plan.Size {
		t.Fatalf("%d of %d bytes, %v", first+n, plan.Size, err)
	}
	return o.Totals.Transfer()
}

// TestTenHours reads ten seconds late in a film of ten hours whose moov is of
// tens of megabytes, with long tables of every kind.
func TestTenHours(t *testing.T) {
	for _, tt := range []struct {
		name  string
		film  longFilm
		bytes int64
	}{
		{"plain", longFilm{}, budget.TenHours},
		{"each picture listed as a sync sample", longFilm{listed: true}, budget.TenHours},
		{"offsets and dependencies of each picture, compact sizes", longFilm{dense: true, depends: true, compact: true}, budget.TenHours},
		{"groups of samples", longFilm{grouped: true}, budget.TenHoursGroups},
		{"parts of samples", longFilm{parts: 2}, budget.TenHours},
		{"encrypted, in a senc", longFilm{locked: lockedInSenc}, budget.TenHours},
		{"encrypted, in a senc of the trak", longFilm{locked: lockedInTrak}, budget.TenHours},
		{"encrypted, vectors alone", longFilm{locked: lockedInSencOne}, budget.TenHours},
		{"encrypted, information between the media", longFilm{locked: lockedInMedia}, budget.TenHours},
		{"encrypted, information before the media", longFilm{locked: lockedInOne}, budget.TenHoursSums},
		{"each picture of another duration", longFilm{varied: true}, budget.TenHoursVaried},
	} {
		for _, tt.film.moovLast = range []bool{false, true} {
			if tt.film.moovLast {
				tt.name += ", moov at the end"
			}
			seektest.Counted(t, tt.name, func(t *testing.T) {
				if !tools.Full() && tt.film.tables() {
					t.Skip("TestPartsLong and TestPartsTrips have these tables; a full run has them in ten hours")
				}
				tt.film.seconds = 36000
				source, moov := tt.film.build()
				if moov < 40<<20 {
					t.Fatalf("the moov is only %d bytes long", moov)
				}
				source.Latency = 30 * time.Millisecond
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				got := tt.film.cost(t, source, formats.Limits{}, 32500)
				runtime.ReadMemStats(&after)
				memory := int64(after.TotalAlloc - before.TotalAlloc)
				t.Logf("moov %d bytes; %d bytes in %d requests, %d round trips to the first media byte; %d bytes of memory in all", moov, got.Bytes, got.Requests, got.FirstMediaTrips, memory)
				if got.Bytes > tt.bytes {
					t.Errorf("%d bytes in all, want at most %d", got.Bytes, tt.bytes)
				}
				if got.FirstMediaTrips > tt.film.trips() {
					t.Errorf("%d round trips to the first media byte, want at most %d: %v", got.FirstMediaTrips, tt.film.trips(), source.Ranges())
				}
				if memory > budget.TenHoursMemory {
					t.Errorf("%d bytes of memory were set aside, want at most %d", memory, budget.TenHoursMemory)
				}
			})
		}
	}
}

// tables reports whether the film has more long tables than most.
func (f longFilm) tables() bool {
	return f.listed || f.dense || f.varied || f.grouped || f.parts != 0 || f.locked != unlocked
}

// discard drops what is written.
type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

// TestPace reads a moov of some megabytes whole where that costs less than the
// round trips of reading it in parts, and in parts where it costs more.
func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, tt := range []struct {
			latency time.Duration
			whole   bool
		}{{100 * time.Millisecond, true}, {time.Millisecond, false}} {
			source, moov := longFilm{seconds: 1500}.build()
			source.Latency = tt.latency
			o, err := openLimited(t, source, formats.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := o.Plan(t.Context(), between(1000, 1010)); err != nil {
				t.Fatal(err)
			}
			if whole := source.Delivered() >= moov; whole != tt.whole {
				t.Errorf("latency %v: %d bytes were read, the moov has %d; want it read whole: %v", tt.latency, source.Delivered(), moov, tt.whole)
			}
		}
	})
}

// TestFewPlaces: a saio that names fewer places than there are chunks is an error
// where the interval needs the others.
func TestFewPlaces(t *testing.T) {
	f := longFilm{seconds: 20, locked: lockedInMedia}
	data := f.bytes(t)
	count := bytes.Index(data, []byte("saio")) + 8
	if flags := data[count-1]; flags&1 != 0 {
		count += 8
	}
	binary.BigEndian.PutUint32(data[count:], 2)
	w := seek.NewWindow(t.Context(), seektest.New(data), 0)
	defer w.Close()
	m, err := mp4.Format{}.Open(t.Context(), w, formats.Env{})
	if err != nil {
		t.Fatal(err)
	}
	bad := (*formats.Error)(nil)
	if _, err := m.Plan(t.Context(), between(10, 11)); !errors.As(err, &bad) || !errors.Is(err, formats.ErrDamaged) || bad.Element != "saio" {
		t.Errorf("%v", err)
	}
}

// TestPartsHostile changes bytes of long tables, and of what stands between them,
// and plans: no file may be answered by a panic, or take long.
func TestPartsHostile(t *testing.T) {
	for n, name := range slices.Sorted(maps.Keys(longFilms)) {
		r := rand.New(rand.NewPCG(7, uint64(n)))
		f := longFilms[name]
		f.seconds = 20
		source, moov := f.build()
		start := source.Info.Size - moov
		if !f.moovLast {
			start = 32
		}
		original := make([]byte, source.Info.Size)
		if _, err := source.Content.ReadAt(original, 0); err != nil {
			t.Fatal(err)
		}
		var heads []int // the beginnings of boxes of the sample tables
		for _, typ := range []string{"stbl", "stts", "stss", "sdtp", "ctts", "stsc", "stsz", "stz2", "stco", "sbgp", "subs", "senc", "saio", "saiz"} {
			for from := int(start); ; {
				i := bytes.Index(original[from:start+moov], []byte(typ))
				if i < 0 {
					break
				}
				from += i + 4
				heads = append(heads, from-8)
			}
		}
		for range full(300, 15) {
			data := slices.Clone(original)
			for range 1 + r.IntN(3) {
				at := heads[r.IntN(len(heads))] + r.IntN(32)
				data[at] = []byte{0, 1, 2, 255, 127, 128, byte(r.Uint32())}[r.IntN(7)]
			}
			began := time.Now()
			fuzzPart(t, data, r.IntN(2000))
			if took := time.Since(began); took > hangs {
				t.Fatalf("%s: %v for a file of %d bytes", name, took, len(data))
			}
		}
	}
}
