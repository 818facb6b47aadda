package client_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/mediafrag/mediafrag/client"
	"github.com/mediafrag/mediafrag/formats"
)

// medium returns a fake of n bytes, no two stretches of which are alike.
func medium(n int) []byte {
	b := make([]byte, n)
	x := uint32(1)
	for i := range b {
		x = x*1664525 + 1013904223
		b[i] = byte(x >> 24)
	}
	copy(b, "fake")
	return b
}

func TestClip(t *testing.T) {
	content := medium(300_000)
	dir := t.TempDir()
	path := filepath.Join(dir, "a b?c.fake")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "", time.Unix(1e9, 0), bytes.NewReader(content))
	}))
	defer server.Close()
	want := append([]byte("fake"), content[100_004:200_004]...)
	for _, uri := range []string{server.URL + "/x.fake?y", "file://" + dir + "/a%20b%3Fc.fake", path} {
		c := client.Client{Formats: []formats.Format{fake{}}}
		clip, err := c.Clip(context.Background(), uri+"#t=100,200")
		if err != nil {
			t.Fatalf("%s: %v", uri, err)
		}
		got, err := io.ReadAll(clip)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %d bytes, %v; want %d", uri, len(got), err, len(want))
		}
		if err := clip.Close(); err != nil {
			t.Error(err)
		}
		c.CloseIdleConnections()
	}
}
