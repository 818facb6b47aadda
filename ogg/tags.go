package ogg

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/mediafrag/mediafrag/formats"
)

// maxTags is how many comments are listed, and maxPictures how many pictures.
const (
	maxTags     = 1000
	maxPictures = 100
)

// describe adds what the comments of a link's streams say, and the pictures that
// they carry. Chapter is the ID of the link's chapter, "" where the file has but
// one link.
func (l *link) describe(info *formats.Info, chapter string) {
	for _, s := range l.streams {
		var track string
		if len(l.streams) > 1 {
			track = s.track.ID
		}
		for _, c := range s.comments() {
			name, value, ok := strings.Cut(strings.ToValidUTF8(c, "\ufffd"), "=")
			switch {
			case !ok:
			case strings.EqualFold(name, "METADATA_BLOCK_PICTURE"):
				if block, err := base64.StdEncoding.DecodeString(value); err == nil {
					addPicture(info, block)
				}
			case strings.EqualFold(name, "COVERART"): // older than METADATA_BLOCK_PICTURE
				if n := base64.StdEncoding.DecodedLen(len(value)) - strings.Count(value[max(0, len(value)-2):], "="); n > 0 {
					attach(info, formats.Attachment{Name: pictureName(3), Size: int64(n)})
				}
			case len(info.Tags) < maxTags:
				info.Tags = append(info.Tags, formats.Tag{Name: name, Value: value, Track: track, Chapter: chapter})
			}
		}
		if _, ok := s.codec.(*flac); !ok {
			continue
		}
		for _, p := range s.packets[1:] {
			if p[0]&0x7f == flacPicture {
				addPicture(info, p[4:])
			}
		}
	}
}

func attach(info *formats.Info, a formats.Attachment) {
	if len(info.Attachments) < maxPictures {
		info.Attachments = append(info.Attachments, a)
	}
}

// addPicture reads a picture block of FLAC (RFC 9639, section 8.8).
func addPicture(info *formats.Info, p []byte) {
	field := func() (uint32, bool) {
		if len(p) < 4 {
			return 0, false
		}
		n := binary.BigEndian.Uint32(p)
		p = p[4:]
		return n, true
	}
	text := func() (string, bool) {
		n, ok := field()
		if !ok || uint64(n) > uint64(len(p)) {
			return "", false
		}
		s := strings.ToValidUTF8(string(p[:n]), "\ufffd")
		p = p[n:]
		return s, true
	}
	kind, _ := field()
	mediaType, _ := text()
	description, ok := text()
	if !ok || len(p) < 20 { // of four numbers about the picture, and its length
		return
	}
	size := binary.BigEndian.Uint32(p[16:])
	if uint64(size) > uint64(len(p)-20) {
		return
	}
	attach(info, formats.Attachment{Name: pictureName(kind), MediaType: mediaType, Description: description, Size: int64(size)})
}

// pictureName names the kinds of pictures, of which most files have but one or two.
func pictureName(kind uint32) string {
	names := map[uint32]string{1: "icon", 2: "icon", 3: "front cover", 4: "back cover", 5: "leaflet", 6: "label", 7: "lead artist", 8: "artist"}
	if name, ok := names[kind]; ok {
		return name
	}
	return fmt.Sprintf("picture of type %d", kind)
}
