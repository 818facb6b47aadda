package hls

import (
	"github.com/mediafrag/mediafrag/formats"
)

// master is a master playlist (RFC 8216 section 4.3.4; the second edition calls
// it a multivariant playlist).
type master struct {
	variants   []variant
	iframes    []variant // I-frame playlists
	renditions []rendition
	pathway    string     // of content steering: where to begin; "" where there is none
	steering   string     // where its manifest is
	steered    attributes // all that is said of it
	header     []string
	version    int64
}

// variant is an EXT-X-STREAM-INF or EXT-X-I-FRAME-STREAM-INF.
type variant struct {
	uri           string
	name          string // NAME or STABLE-VARIANT-ID, "" where there is neither
	bandwidth     int64
	average       int64
	codecs        string
	width, height int
	frameRate     string
	audio, video  string // groups of renditions
	subtitles     string
	pathway       string
	attrs         attributes
}

// rendition is an EXT-X-MEDIA.
type rendition struct {
	kind       formats.Kind
	group      string
	name       string
	uri        string // "": it is multiplexed in the variants
	language   string
	isDefault  bool
	autoselect bool
	forced     bool
	channels   int
	attrs      attributes
}

// masterTag reads a tag of a master playlist.
func (r *reader) masterTag(name string, a attributes, line string) error {
	if r.master == nil {
		if len(r.m.segments) > 0 {
			return nil // a media playlist with a stray tag
		}
		r.master = &master{header: r.m.header}
	}
	m := r.master
	if len(m.variants)+len(m.iframes)+len(m.renditions) >= maxEntries {
		return limited(name[1:], r.offset, "too many variants and renditions")
	}
	switch name {
	case "#EXT-X-STREAM-INF":
		v := newVariant(a)
		r.variant = &v
	case "#EXT-X-I-FRAME-STREAM-INF":
		v := newVariant(a)
		v.uri = a.get("URI")
		m.iframes = append(m.iframes, v)
	case "#EXT-X-MEDIA":
		if x, ok := newRendition(a); ok {
			m.renditions = append(m.renditions, x)
		}
	case "#EXT-X-CONTENT-STEERING":
		m.steering, m.pathway, m.steered = a.get("SERVER-URI"), a.get("PATHWAY-ID"), a
		if m.pathway == "" {
			m.pathway = defaultPathway
		}
	default:
		return r.keep(&m.header, line)
	}
	return nil
}

// defaultPathway is the pathway of variants that name none.
const defaultPathway = "."

func newVariant(a attributes) variant {
	v := variant{
		name: a.get("NAME"), bandwidth: a.number("BANDWIDTH"), average: a.number("AVERAGE-BANDWIDTH"),
		codecs: a.get("CODECS"), frameRate: a.get("FRAME-RATE"), audio: a.get("AUDIO"), video: a.get("VIDEO"),
		subtitles: a.get("SUBTITLES"), pathway: a.get("PATHWAY-ID"), attrs: a,
	}
	if v.name == "" {
		v.name = a.get("STABLE-VARIANT-ID")
	}
	if v.pathway == "" {
		v.pathway = defaultPathway
	}
	v.width, v.height = parseResolution(a.get("RESOLUTION"))
	return v
}

// captions is the kind of renditions that have no media of their own: closed
// captions are inside the video.
const captions formats.Kind = "captions"

// renditionKinds are the kinds of renditions.
var renditionKinds = map[string]formats.Kind{"AUDIO": formats.Audio, "VIDEO": formats.Video, "SUBTITLES": formats.Subtitle, "CLOSED-CAPTIONS": captions}

func newRendition(a attributes) (x rendition, ok bool) {
	kind, ok := renditionKinds[a.get("TYPE")]
	if !ok {
		return x, false
	}
	return rendition{
		kind: kind, group: a.get("GROUP-ID"), name: a.get("NAME"), uri: a.get("URI"), language: a.get("LANGUAGE"),
		isDefault: a.yes("DEFAULT"), autoselect: a.yes("AUTOSELECT") || a.yes("DEFAULT"), forced: a.yes("FORCED"),
		channels: channels(a.get("CHANNELS")), attrs: a,
	}, true
}

// channels reads CHANNELS, of which the first parameter is a count.
func channels(s string) int {
	n := 0
	for _, c := range []byte(s) {
		if c < '0' || c > '9' || n > 1000 {
			break
		}
		n = n*10 + int(c-'0')
	}
	return n
}
