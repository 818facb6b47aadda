package mp4

import "bytes"

// Limits on one fragment, whatever it claims of itself.
const (
	maxTrafs   = 1024    // track fragments of a moof
	maxRuns    = 1 << 16 // track runs of a moof
	maxUniform = 1 << 22 // samples of a run that lists none of them singly
)

// Flags of tfhd, trun and of samples (ISO/IEC 14496-12 sections 8.8.7, 8.8.8
// and 8.8.3.1).
const (
	tfhdBaseOffset  = 0x000001
	tfhdDescription = 0x000002
	tfhdDuration    = 0x000008
	tfhdSize        = 0x000010
	tfhdFlags       = 0x000020
	tfhdBaseIsMoof  = 0x020000

	trunDataOffset = 0x000001
	trunFirstFlags = 0x000004
	trunDuration   = 0x000100
	trunSize       = 0x000200
	trunFlags      = 0x000400
	trunOffset     = 0x000800

	sampleNonSync = 0x010000
)

// fragmentDefaults are a track's trex: what its fragments leave out.
type fragmentDefaults struct {
	description, duration, size, flags uint32
}

// moof is one movie fragment.
type moof struct {
	box    box
	number uint32 // mfhd's sequence number
	trafs  []trackFragment

	segment int // in a list of segments; 0 in a file
}

// trackFragment is one traf: the samples of a track in a fragment.
type trackFragment struct {
	box         box
	id          uint32
	decode      int64 // tfdt: decode time of the first sample, -1 where there is none
	description uint32
	base        int64 // what offsets count from
	runs        []trackRun

	rejoins bool // its clock begins anew: decode is what was made of it
}

// trackRun is one trun, read in place: samples that lie behind one another.
type trackRun struct {
	count   int64
	data    int64  // where the samples begin in the file
	entries []byte // the trun's table; empty where it lists nothing of single samples
	stride  int    // of an entry
	fields  uint32 // trun's flags
	first   uint32 // flags of the first sample, with trunFirstFlags

	duration, size, flags uint32 // of samples that do not state their own
}

// runSample is what a trun says of a sample.
type runSample struct {
	duration, size, flags uint32
	offset                int32 // of composition
}

// sample returns the run's i-th sample. Composition offsets are signed in
// version 1; version 0 is read as signed as well, as every writer means it.
func (r *trackRun) sample(i int64) runSample {
	s := runSample{duration: r.duration, size: r.size, flags: r.flags}
	if i == 0 && r.fields&trunFirstFlags != 0 {
		s.flags = r.first
	}
	if r.stride == 0 {
		return s
	}
	e := r.entries[i*int64(r.stride):]
	if r.fields&trunDuration != 0 {
		s.duration, e = be.Uint32(e), e[4:]
	}
	if r.fields&trunSize != 0 {
		s.size, e = be.Uint32(e), e[4:]
	}
	if r.fields&trunFlags != 0 {
		s.flags, e = be.Uint32(e), e[4:]
	}
	if r.fields&trunOffset != 0 {
		s.offset = int32(be.Uint32(e))
	}
	return s
}

// bytes returns the length of the run's samples.
func (r *trackRun) bytes() int64 {
	if r.fields&trunSize == 0 {
		return r.count * int64(r.size)
	}
	var n int64
	for i := range r.count {
		n += int64(r.sample(i).size)
	}
	return n
}

// samples returns how many samples the track fragment has.
func (t *trackFragment) samples() int64 {
	var n int64
	for _, r := range t.runs {
		n += r.count
	}
	return n
}

// duration returns how long all samples of the track fragment last.
func (t *trackFragment) duration() int64 {
	var d int64
	for _, r := range t.runs {
		if r.fields&trunDuration == 0 {
			d += r.count * int64(r.duration)
			continue
		}
		for i := range r.count {
			d += int64(r.sample(i).duration)
		}
	}
	return d
}

// readFragment reads a moof. Defaults are those of the moov's tracks; tracks
// that it does not have are left out.
func readFragment(b box, defaults map[uint32]fragmentDefaults) (*moof, error) {
	f := &moof{box: b}
	next := b.off // where data goes on that no field places (section 8.8.7.1)
	runs := 0
	for c, err := range b.children() {
		if err != nil {
			return nil, err
		}
		switch c.typ {
		case "mfhd":
			if p := c.payload(); len(p) >= 8 {
				f.number = be.Uint32(p[4:])
			}
		case "traf":
			if len(f.trafs) == maxTrafs {
				return nil, c.damaged(0, "more than %d track fragments", maxTrafs)
			}
			t := trackFragment{box: c, decode: -1}
			if next, err = t.read(b.off, next, defaults); err != nil {
				return nil, err
			}
			if runs += len(t.runs); runs > maxRuns {
				return nil, c.damaged(0, "more than %d track runs", maxRuns)
			}
			if _, ok := defaults[t.id]; ok {
				f.trafs = append(f.trafs, t)
			}
		}
	}
	return f, nil
}

// read reads a traf. Next is where the data of the traf before it ended; where
// its own ends is returned.
func (t *trackFragment) read(start, next int64, defaults map[uint32]fragmentDefaults) (int64, error) {
	head, ok, err := t.box.child("tfhd")
	if err != nil {
		return 0, err
	}
	if !ok {
		return 0, t.box.damaged(0, "no tfhd")
	}
	d, base, err := t.readHeader(head, start, next, defaults)
	if err != nil {
		return 0, err
	}
	t.base = base
	at := base
	stated := int64(-1) // by a tfxd
	for c, err := range t.box.children() {
		if err != nil {
			return 0, err
		}
		switch c.typ {
		case "uuid":
			if isAbsoluteTime(c) {
				stated = readAbsoluteTime(c.payload()[16:])
			}
		case "tfdt":
			if t.decode, err = readDecodeTime(c); err != nil {
				return 0, err
			}
		case "trun":
			r, err := readRun(c, d, base, at)
			if err != nil {
				return 0, err
			}
			at = r.data + r.bytes()
			if at < r.data || at > 1<<62 {
				return 0, c.damaged(0, "its samples end beyond any file")
			}
			t.runs = append(t.runs, r)
		}
	}
	if t.decode < 0 && stated >= 0 {
		t.decode = max(0, stated-firstOffsetOf(t))
	}
	return at, nil
}

// tfxd is the extended type of the box in which fragments of Smooth Streaming
// say when they begin, in presentation time ([MS-SSTR] section 2.2.4.4). They
// have no tfdt.
var tfxd = []byte{0x6d, 0x1d, 0x9b, 0x05, 0x42, 0xd5, 0x44, 0xe6, 0x80, 0xe2, 0x14, 0x1d, 0xaf, 0xf7, 0x57, 0xb2}

func isAbsoluteTime(b box) bool {
	p := b.payload()
	return b.typ == "uuid" && len(p) >= 24 && bytes.Equal(p[:16], tfxd)
}

// readAbsoluteTime reads the time out of a tfxd, -1 where it is none.
func readAbsoluteTime(p []byte) int64 {
	if p[0] == 0 {
		return int64(be.Uint32(p[4:]))
	}
	if len(p) < 12 || be.Uint64(p[4:]) > maxTicks {
		return -1
	}
	return int64(be.Uint64(p[4:]))
}

// readHeader reads a tfhd and returns the defaults of the track fragment and
// what its data offsets count from.
func (t *trackFragment) readHeader(b box, start, next int64, defaults map[uint32]fragmentDefaults) (fragmentDefaults, int64, error) {
	p := b.payload()
	if len(p) < 8 {
		return fragmentDefaults{}, 0, b.damaged(0, "cut off")
	}
	flags := be.Uint32(p) & 0xffffff
	t.id = be.Uint32(p[4:])
	d, base := defaults[t.id], next
	if flags&tfhdBaseIsMoof != 0 {
		base = start
	}
	p = p[8:]
	if flags&tfhdBaseOffset != 0 {
		if len(p) < 8 || be.Uint64(p) > 1<<62 {
			return d, 0, b.damaged(8, "its base data offset is cut off or beyond any file")
		}
		base, p = int64(be.Uint64(p)), p[8:]
	}
	for _, f := range []struct {
		flag uint32
		to   *uint32
	}{{tfhdDescription, &d.description}, {tfhdDuration, &d.duration}, {tfhdSize, &d.size}, {tfhdFlags, &d.flags}} {
		if flags&f.flag == 0 {
			continue
		}
		if len(p) < 4 {
			return d, 0, b.damaged(8, "cut off")
		}
		*f.to, p = be.Uint32(p), p[4:]
	}
	t.description = max(d.description, 1)
	return d, base, nil
}

func readDecodeTime(b box) (int64, error) {
	p := b.payload()
	switch {
	case len(p) >= 12 && p[0] == 1:
		if v := be.Uint64(p[4:]); v <= maxTicks {
			return int64(v), nil
		}
		return 0, b.damaged(4, "a decode time beyond any medium")
	case len(p) >= 8 && p[0] == 0:
		return int64(be.Uint32(p[4:])), nil
	}
	return 0, b.damaged(0, "cut off")
}

// readRun reads a trun, whose table has to lie in its box. At is where the
// data of the run before it ended.
func readRun(b box, d fragmentDefaults, base, at int64) (trackRun, error) {
	p := b.payload()
	if len(p) < 8 {
		return trackRun{}, b.damaged(0, "cut off")
	}
	r := trackRun{
		fields: be.Uint32(p) & 0xffffff, count: int64(be.Uint32(p[4:])), data: at,
		duration: d.duration, size: d.size, flags: d.flags,
	}
	p = p[8:]
	if r.fields&trunDataOffset != 0 {
		if len(p) < 4 {
			return r, b.damaged(8, "cut off")
		}
		if r.data, p = base+int64(int32(be.Uint32(p))), p[4:]; r.data < 0 {
			return r, b.damaged(8, "its data begin before the file")
		}
	}
	if r.fields&trunFirstFlags != 0 {
		if len(p) < 4 {
			return r, b.damaged(8, "cut off")
		}
		r.first, p = be.Uint32(p), p[4:]
	}
	for _, f := range []uint32{trunDuration, trunSize, trunFlags, trunOffset} {
		if r.fields&f != 0 {
			r.stride += 4
		}
	}
	if r.stride == 0 {
		if r.count > maxUniform {
			return r, b.damaged(4, "%d samples of which it says nothing", r.count)
		}
		return r, nil
	}
	if r.count > int64(len(p)/r.stride) {
		return r, b.damaged(4, "%d samples do not fit into its %d bytes", r.count, len(b.payload()))
	}
	r.entries = p[:r.count*int64(r.stride)]
	return r, nil
}

// readDefaults reads the trex boxes of an mvex.
func (m *movie) readDefaults(mvex box) error {
	m.fragmented = true
	m.defaults = map[uint32]fragmentDefaults{}
	for c, err := range mvex.children() {
		if err != nil {
			return err
		}
		p := c.payload()
		switch c.typ {
		case "trex":
			if len(p) < 24 {
				return c.damaged(0, "cut off")
			}
			m.defaults[be.Uint32(p[4:])] = fragmentDefaults{be.Uint32(p[8:]), be.Uint32(p[12:]), be.Uint32(p[16:]), be.Uint32(p[20:])}
		case "mehd":
			if len(p) >= 12 && p[0] == 1 && be.Uint64(p[4:]) <= maxTicks {
				m.extends = int64(be.Uint64(p[4:]))
			} else if len(p) >= 8 && p[0] == 0 {
				m.extends = int64(be.Uint32(p[4:]))
			}
		}
	}
	return nil
}

// fragmentDefaultsOf returns the defaults of all tracks that can be delivered;
// a track without a trex, which writers forget, has none.
func (m *movie) fragmentDefaultsOf() map[uint32]fragmentDefaults {
	out := map[uint32]fragmentDefaults{}
	for _, t := range m.tracks {
		out[t.id] = m.defaults[t.id]
	}
	return out
}

// of returns the track fragments of a track.
func (m *moof) of(id uint32) []*trackFragment {
	var out []*trackFragment
	for i := range m.trafs {
		if m.trafs[i].id == id {
			out = append(out, &m.trafs[i])
		}
	}
	return out
}

// isSync reports whether a sample's flags make it a sync sample.
func isSync(flags uint32) bool { return flags&sampleNonSync == 0 }
