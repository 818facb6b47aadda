// Prints what two parsers read of each playlist that is named: one line of JSON
// for each. Needs the npm packages m3u8-parser and hls-parser in the folder given
// first.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";

const [folder, ...paths] = process.argv.slice(2);
const require = createRequire(folder + "/x.js");
const m3u8 = require("m3u8-parser"), hls = require("hls-parser");
hls.setOptions({ strictMode: false, silent: true });

const range = (b) => (b ? { offset: Number(b.offset), length: Number(b.length) } : null);

function byM3U8(text) {
  const p = new m3u8.Parser({ uri: "https://host.test/dir/media.m3u8" });
  p.push(text);
  p.end();
  const m = p.manifest;
  if (m.playlists) {
    return { master: true, variants: m.playlists.map((v) => ({ uri: v.uri, bandwidth: v.attributes.BANDWIDTH || 0, codecs: v.attributes.CODECS || "" })) };
  }
  return {
    ended: !!m.endList, sequence: m.mediaSequence || 0, target: m.targetDuration || 0,
    segments: m.segments.filter((s) => s.uri).map((s) => ({
      uri: s.uri, duration: s.duration, range: range(s.byterange), init: s.map ? s.map.uri : "", initRange: range(s.map && s.map.byterange),
      key: s.key ? s.key.uri || "" : "", discontinuity: !!s.discontinuity, date: s.dateTimeObject ? +s.dateTimeObject : null,
    })),
  };
}

function byHLS(text) {
  const m = hls.parse(text);
  if (m.isMasterPlaylist) {
    return { master: true, variants: m.variants.filter((v) => !v.isIFrameOnly).map((v) => ({ uri: v.uri, bandwidth: v.bandwidth || 0, codecs: v.codecs || "" })) };
  }
  return {
    ended: !!m.endlist, sequence: m.mediaSequenceBase || 0, target: m.targetDuration || 0,
    segments: m.segments.filter((s) => s.uri).map((s) => ({
      uri: s.uri, duration: s.duration, range: range(s.byterange), init: s.map ? s.map.uri : "", initRange: range(s.map && s.map.byterange),
      key: s.key && s.key.method !== "NONE" ? s.key.uri || "" : "", discontinuity: !!s.discontinuity,
      date: s.programDateTime ? +s.programDateTime : null, gap: !!s.gap,
    })),
  };
}

for (const path of paths) {
  const text = readFileSync(path, "utf8");
  const out = { path };
  for (const [name, f] of [["m3u8", byM3U8], ["hls", byHLS]]) {
    try {
      out[name] = f(text);
    } catch (e) {
      out[name] = { error: String(e.message || e) };
    }
  }
  console.log(JSON.stringify(out));
}
