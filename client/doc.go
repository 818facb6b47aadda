// Package client opens media by URI and delivers clips of them.
//
//	var c client.Client // ready to use
//	clip, err := c.Clip(ctx, "https://host/movie.mp4#t=60,100")
//	if err != nil { … }
//	defer clip.Close()
//	_, err = io.Copy(out, clip)
//
// A [Client] holds what all jobs share: connections, formats, limits. A
// [Resource] is one open medium, its index in hand: it answers any number of
// selections. A [Clip] is a selection being read.
package client
