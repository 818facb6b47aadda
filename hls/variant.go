package hls

import (
	"fmt"
	"sort"
	"strconv"
	"strings"

	"github.com/mediafrag/mediafrag/formats"
)

// parseResolution reads "WxH".
func parseResolution(s string) (width, height int) {
	w, h, ok := strings.Cut(strings.ToLower(s), "x")
	if !ok {
		return 0, 0
	}
	width, err := strconv.Atoi(w)
	height, err2 := strconv.Atoi(h)
	if err != nil || err2 != nil || width <= 0 || height <= 0 || width > 1<<20 || height > 1<<20 {
		return 0, 0
	}
	return width, height
}

// iframesWanted is the variant that stands for the I-frame playlists.
const iframesWanted = "iframes"

// choose returns the variants to read, the first that works: one, and those that
// are redundant to it, on other hosts. Want is "" for the best, "worst", a
// height ("720p", "1280x720"), a bandwidth ("1500000", "1500k"), a codec
// ("hvc1"), a name, or "iframes".
func (m *master) choose(want string) ([]variant, error) {
	all := m.variants
	if strings.EqualFold(want, iframesWanted) {
		all, want = m.iframes, ""
	}
	if len(all) == 0 && len(m.variants) > 0 {
		return nil, &variantError{iframesWanted, m.variants}
	}
	if len(all) == 0 {
		return nil, damaged("", -1, "the master playlist has no variants")
	}
	ranked := append([]variant(nil), all...)
	sort.SliceStable(ranked, func(i, j int) bool { return ranked[i].better(ranked[j]) })
	found := pick(ranked, want)
	if found == nil {
		return nil, &variantError{want, ranked}
	}
	return m.withRedundant(*found, all), nil
}

// variantError is a [formats.ErrNoTrack] of a variant that the master playlist
// does not have.
type variantError struct {
	want string
	have []variant
}

// Error names the variants that there are.
func (e *variantError) Error() string {
	missing := "variant " + strconv.Quote(e.want)
	if e.want == iframesWanted {
		missing = "I-frame playlist"
	}
	return fmt.Sprintf("%s EXT-X-STREAM-INF: there is no %s; there are %s", Name, missing, describe(e.have))
}

// Unwrap returns [formats.ErrNoTrack].
func (e *variantError) Unwrap() error { return formats.ErrNoTrack }

// better reports whether v is to be preferred: the larger bandwidth.
func (v variant) better(w variant) bool {
	if v.bandwidth != w.bandwidth {
		return v.bandwidth > w.bandwidth
	}
	return v.height > w.height
}

// pick returns the best of the ranked variants that is what is wanted, nil where
// none is.
func pick(ranked []variant, want string) *variant {
	switch strings.ToLower(want) {
	case "", "best":
		return &ranked[0]
	case "worst":
		return &ranked[len(ranked)-1]
	}
	for _, fits := range []func(v variant) bool{
		func(v variant) bool { return v.name != "" && v.name == want || v.uri == want },
		func(v variant) bool { return v.height > 0 && v.fitsHeight(want) },
		func(v variant) bool { return v.hasCodec(want) },
	} {
		for i := range ranked {
			if fits(ranked[i]) {
				return &ranked[i]
			}
		}
	}
	bits, ok := bandwidth(want)
	if !ok {
		return nil
	}
	for i := range ranked { // the best that is not above
		if ranked[i].bandwidth <= bits || ranked[i].average == bits {
			return &ranked[i]
		}
	}
	return nil
}

// fitsHeight reports whether want is "720p", "720" or "1280x720".
func (v variant) fitsHeight(want string) bool {
	if w, h := parseResolution(want); h > 0 {
		return w == v.width && h == v.height
	}
	h, err := strconv.Atoi(strings.TrimSuffix(strings.ToLower(want), "p"))
	return err == nil && h == v.height
}

// hasCodec reports whether one of the variant's codecs is, or begins with, want.
func (v variant) hasCodec(want string) bool {
	for _, c := range codecs(v.codecs) {
		if c == want || strings.HasPrefix(c, want+".") {
			return true
		}
	}
	return false
}

// bandwidth reads "1500000", "1500k" or "1.5M".
func bandwidth(s string) (bits int64, ok bool) {
	factor := 1.0
	switch {
	case strings.HasSuffix(strings.ToLower(s), "k"):
		factor, s = 1e3, s[:len(s)-1]
	case strings.HasSuffix(strings.ToLower(s), "m"):
		factor, s = 1e6, s[:len(s)-1]
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || f < 0 || f*factor > 1e15 {
		return 0, false
	}
	return int64(f * factor), true
}

// describe lists variants for an error.
func describe(all []variant) string {
	var out []string
	for i, v := range all {
		if i == 20 {
			return strings.Join(append(out, "…"), ", ")
		}
		s := strconv.FormatInt(v.bandwidth, 10)
		if v.height > 0 {
			s = strconv.Itoa(v.height) + "p (" + s + ")"
		}
		if v.name != "" {
			s = shorten(v.name) + " " + s
		}
		out = append(out, s)
	}
	return strings.Join(out, ", ")
}

// withRedundant returns v and the variants that say the same of themselves under
// another URI (RFC 8216 section 6.2.4), those of the preferred pathway first.
func (m *master) withRedundant(v variant, all []variant) []variant {
	out := []variant{}
	seen := map[string]bool{}
	for _, w := range all {
		same := w.bandwidth == v.bandwidth && w.codecs == v.codecs && w.width == v.width && w.height == v.height && w.frameRate == v.frameRate && w.name == v.name
		grouped := w.audio == v.audio && w.video == v.video && w.subtitles == v.subtitles || w.pathway != v.pathway
		if same && grouped && !seen[w.uri] {
			seen[w.uri] = true
			out = append(out, w)
		}
	}
	sort.SliceStable(out, func(i, j int) bool { return m.rank(out[i], v) < m.rank(out[j], v) })
	return out
}

// rank orders redundant variants: the pathway that content steering begins with,
// then the one that was chosen, then as they stand.
func (m *master) rank(w, chosen variant) int {
	switch {
	case m.pathway != "" && w.pathway == m.pathway:
		return 0
	case w.uri == chosen.uri:
		return 1
	}
	return 2
}

// group returns the renditions of a kind that belong to a variant.
func (m *master) group(v variant, kind formats.Kind) []rendition {
	id := map[formats.Kind]string{formats.Audio: v.audio, formats.Video: v.video, formats.Subtitle: v.subtitles}[kind]
	var out []rendition
	for _, x := range m.renditions {
		if id != "" && x.kind == kind && x.group == id {
			out = append(out, x)
		}
	}
	return out
}

// played returns which rendition of a group plays by default, -1 if none: the
// default one, else the first that may be selected without being asked for; one
// of sound plays always.
func played(group []rendition, kind formats.Kind) int {
	auto := -1
	for i, x := range group {
		if x.isDefault {
			return i
		}
		if auto < 0 && x.autoselect && kind != formats.Subtitle {
			auto = i
		}
	}
	if auto < 0 && kind == formats.Audio && len(group) > 0 {
		return 0
	}
	return auto
}

// codecs splits a CODECS attribute.
func codecs(s string) []string {
	var out []string
	for c := range strings.SplitSeq(s, ",") {
		if c = strings.TrimSpace(c); c != "" {
			out = append(out, c)
		}
	}
	return out
}

// audioCodecs and textCodecs are what the codecs of sound and text begin with;
// all others are of video.
var (
	audioCodecs = []string{"mp4a", "ac-3", "ec-3", "ac-4", "opus", "flac", "fLaC", "alac", "vorbis", "mp3", "Opus", "dts"}
	textCodecs  = []string{"wvtt", "stpp"}
)

// codecKind returns the kind of track that has a codec.
func codecKind(codec string) formats.Kind {
	for _, c := range audioCodecs {
		if strings.HasPrefix(codec, c) {
			return formats.Audio
		}
	}
	for _, c := range textCodecs {
		if strings.HasPrefix(codec, c) {
			return formats.Subtitle
		}
	}
	return formats.Video
}
