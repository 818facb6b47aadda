package mp4

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/mediafrag/mediafrag/formats"
)

// Limits on what a file says of itself.
const (
	maxTags = 1000
	maxTag  = 64 << 10 // bytes of one
)

// Kinds of values in a data box (QuickTime File Format, well-known types).
const (
	valueImplied  = 0
	valueUTF8     = 1
	valueUTF16    = 2
	valueSigned   = 21
	valueUnsigned = 22
)

// readTags reads what a udta or a meta says of the whole: the items of an ilst, and
// the texts of QuickTime.
func (m *movie) readTags(b box) {
	skip := 0
	if b.typ == "meta" {
		skip = metaFields(b.payload())
	}
	var keys []string
	for c, err := range b.childrenAt(skip) {
		if err != nil {
			return // junk: it is copied as it is
		}
		switch {
		case c.typ == "meta" && b.typ == "udta":
			m.readTags(c)
		case c.typ == "keys":
			keys = readKeys(c.payload())
		case c.typ == "ilst":
			m.readItems(c, keys)
		case b.typ == "udta" && c.typ[0] == 0xa9:
			m.addTag(tagName(c.typ), quickTimeText(c.payload()))
		}
	}
}

// addTag lists a tag that says something.
func (m *movie) addTag(name, value string) {
	if value = strings.TrimRight(value, "\x00"); value != "" && len(m.tags) < maxTags {
		m.tags = append(m.tags, formats.Tag{Name: name, Value: strings.ToValidUTF8(value, "�")})
	}
}

// tagName writes the four characters of an item, of which many begin with a
// copyright sign.
func tagName(typ string) string {
	if typ[0] == 0xa9 {
		return "©" + printable(typ[1:])
	}
	return printable(typ)
}

// readKeys reads the names that items are numbered by.
func readKeys(p []byte) []string {
	var out []string
	for p = p[min(8, len(p)):]; len(p) >= 8 && len(out) < maxTags; {
		n := int(be.Uint32(p))
		if n < 8 || n > len(p) {
			break
		}
		out = append(out, strings.ToValidUTF8(string(p[8:n]), "�"))
		p = p[n:]
	}
	return out
}

// readItems reads the items of an ilst.
func (m *movie) readItems(ilst box, keys []string) {
	for item, err := range ilst.children() {
		if err != nil {
			return
		}
		name := tagName(item.typ)
		if i := int(be.Uint32([]byte(item.typ))); i >= 1 && i <= len(keys) {
			name = keys[i-1]
		}
		for c, err := range item.children() {
			if err != nil {
				break
			}
			switch p := c.payload(); {
			case c.typ == "name" && len(p) > 4 && item.typ == "----":
				name = string(bytes.ToValidUTF8(p[4:], []byte("�")))
			case c.typ == "data" && len(p) > 8 && len(p) <= maxTag:
				m.addTag(name, itemValue(item.typ, be.Uint32(p)&0xffffff, p[8:]))
			}
		}
	}
}

// itemValue writes the value of an item; "" where it is no text or number.
func itemValue(item string, kind uint32, p []byte) string {
	switch {
	case kind == valueUTF8:
		return string(p)
	case kind == valueUTF16:
		return decodeUTF16(p)
	case kind == valueImplied && (item == "trkn" || item == "disk") && len(p) >= 6:
		if total := be.Uint16(p[4:]); total > 0 {
			return fmt.Sprintf("%d/%d", be.Uint16(p[2:]), total)
		}
		return strconv.Itoa(int(be.Uint16(p[2:])))
	case (kind == valueSigned || kind == valueUnsigned || kind == valueImplied && item == "gnre") && len(p) <= 8:
		var v uint64
		for _, b := range p {
			v = v<<8 | uint64(b)
		}
		if shift := 64 - 8*len(p); kind == valueSigned && shift < 64 {
			return strconv.FormatInt(int64(v<<shift)>>shift, 10)
		}
		return strconv.FormatUint(v, 10)
	}
	return ""
}

func decodeUTF16(p []byte) string {
	units := make([]uint16, len(p)/2)
	for i := range units {
		units[i] = be.Uint16(p[2*i:])
	}
	return string(utf16.Decode(units))
}

// quickTimeText reads the first text of a user data item: its length, its language,
// and the text itself.
func quickTimeText(p []byte) string {
	if len(p) < 4 || len(p) > maxTag {
		return ""
	}
	return string(p[4:min(len(p), 4+int(be.Uint16(p)))])
}
