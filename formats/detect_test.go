package formats_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/seek"
)

// kind is a Format that recognises resources by their first bytes, or where
// those are zeros by media type or name.
type kind struct{ name, magic, mediaType, suffix string }

func (k kind) Name() string { return k.name }

func (k kind) Detect(head []byte, i seek.Info) bool {
	if bytes.HasPrefix(head, []byte(k.magic)) {
		return true
	}
	open := len(bytes.Trim(head, "\x00")) == 0
	return open && (i.MediaType != "" && i.MediaType == k.mediaType || i.Name != "" && strings.HasSuffix(i.Name, k.suffix))
}

func (k kind) Open(context.Context, *seek.Window, formats.Env) (formats.Media, error) {
	return nil, errors.New("not for opening")
}

func TestDetect(t *testing.T) {
	known := []formats.Format{
		kind{"one", "1111", "video/one", ".one"},
		kind{"two", "2222", "video/two", ".two"},
		kind{"too", "2222", "video/too", ".too"},
	}
	tests := []struct {
		what, head string
		info       seek.Info
		want       string
	}{
		{"bytes", "2222 and more", seek.Info{}, "two"},
		{"bytes against media type and name", "2222", seek.Info{MediaType: "video/one", Name: "m.one"}, "two"},
		{"media type where the bytes leave it open", "\x00\x00", seek.Info{MediaType: "video/two"}, "two"},
		{"name where the bytes leave it open", "\x00\x00", seek.Info{Name: "m.too"}, "too"},
		{"nothing but a name", "", seek.Info{Name: "m.one"}, "one"},
		{"the order decides", "2222", seek.Info{Name: "m.too"}, "two"},
		{"neither", "3333", seek.Info{Name: "m.one", MediaType: "video/two"}, ""},
		{"empty", "", seek.Info{}, ""},
	}
	for _, tt := range tests {
		f, err := formats.Detect([]byte(tt.head), tt.info, known)
		switch {
		case tt.want == "":
			if f != nil || !errors.Is(err, formats.ErrUnknownFormat) {
				t.Errorf("%s: %v, %v", tt.what, f, err)
			}
		case err != nil || f.Name() != tt.want:
			t.Errorf("%s: %v, %v, want %s", tt.what, f, err, tt.want)
		}
	}
}

func TestUnknownError(t *testing.T) {
	known := []formats.Format{kind{name: "one", magic: "1"}, kind{name: "two", magic: "2"}}
	long := "<!DOCTYPE html><html><head><title>Not here</title>"
	_, err := formats.Detect([]byte(long), seek.Info{Name: "https://host/secret?token=1", MediaType: "text/html", Size: 812}, known)
	want := `it begins with "<!DOCTYPE html><", is said to be text/html, has 812 bytes and is none of one, two: container not recognised`
	if err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	var unknown *formats.UnknownError
	if !errors.As(err, &unknown) || unknown.MediaType != "text/html" || unknown.Size != 812 || len(unknown.Head) != 16 {
		t.Errorf("%+v", unknown)
	}
	_, err = formats.Detect(nil, seek.Info{Size: -1}, known)
	if want := `it is empty (0 bytes) and is none of one, two: container not recognised`; err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
