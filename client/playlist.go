package client

import (
	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/hls"
)

// HLS returns a verbatim plan of a fragmented MP4 as an HLS playlist of byte
// ranges at its origin: see [hls.Playlist]. Other plans are
// [formats.ErrUnsupported].
func HLS(p *formats.Plan) (string, error) { return hls.Playlist(p) }
