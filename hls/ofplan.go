package hls

import (
	"fmt"
	"strings"
	"time"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/internal/segments"
)

// Playlist returns a verbatim plan of a fragmented MP4 as a media playlist of
// byte ranges at its origin: the header as initialization section, the fragments
// as one segment, and where the interval begins in it. A player needs no more
// than that and the origin.
func Playlist(p *formats.Plan) (string, error) {
	bad := unsupported("", "a playlist of this plan", "it takes the verbatim form of a fragmented MP4: its header and one run of fragments")
	if len(p.Parts) != 2 || p.MediaType != "video/mp4" && p.MediaType != "audio/mp4" {
		return "", bad
	}
	for _, part := range p.Parts {
		if part.Resource == nil || part.Rewrite != nil || !part.Closed() || part.Resource.Name != p.Parts[0].Resource.Name {
			return "", bad
		}
	}
	header, media := p.Parts[0], p.Parts[1]
	length := segments.Duration(p.Covered.End.Sub(p.Covered.Start))
	var out strings.Builder
	fmt.Fprintf(&out, "%s\n#EXT-X-VERSION:7\n#EXT-X-TARGETDURATION:%d\n#EXT-X-MEDIA-SEQUENCE:0\n#EXT-X-PLAYLIST-TYPE:VOD\n",
		signature, int64((length+time.Second-1)/time.Second))
	if start := segments.Duration(p.Requested.Start.Sub(p.Covered.Start)); start > 0 {
		fmt.Fprintf(&out, "#EXT-X-START:TIME-OFFSET=%s,PRECISE=YES\n", decimal(start))
	}
	fmt.Fprintf(&out, "#EXT-X-MAP:URI=%q,BYTERANGE=\"%d@%d\"\n#EXTINF:%s,\n#EXT-X-BYTERANGE:%d@%d\n%s\n#EXT-X-ENDLIST\n",
		header.Resource.Name, header.Length, header.Offset, decimal(length), media.Length, media.Offset, media.Resource.Name)
	return out.String(), nil
}
