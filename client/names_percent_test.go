package client_test

import (
	"testing"

	"github.com/mediafrag/mediafrag/client"
	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/formats/formatstest"
	"github.com/mediafrag/mediafrag/internal/faultserver"
)

// TestStrayPercent opens names with a '%' that encodes nothing: the server gets
// it encoded.
func TestStrayPercent(t *testing.T) {
	for _, path := range []string{"/bad%zz.fake", "/100%", "/a%2", "/50%20%"} {
		decoded := map[string]string{"/50%20%": "/50 %"}[path]
		if decoded == "" {
			decoded = path
		}
		s := faultserver.Start(t, faultserver.Config{Files: map[string]faultserver.File{decoded: {Content: formatstest.FakeFile(10)}}})
		c := client.Client{Formats: []formats.Format{formatstest.Fake{}}}
		r, err := c.Open(t.Context(), s.URL+path+"#t=1,2")
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		r.Close()
		c.CloseIdleConnections()
	}
}
