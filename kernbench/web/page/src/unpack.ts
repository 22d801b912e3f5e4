// What a report carries in its elements: bytes, compressed by gzip and written as base64.

/** The bytes of an element. */
export async function unpack(id: string): Promise<Uint8Array> {
  const packed = atob(document.getElementById(id)?.textContent ?? "");
  const bytes = new Uint8Array(packed.length);
  for (let place = 0; place < packed.length; place++) bytes[place] = packed.charCodeAt(place);
  const plain = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(plain).arrayBuffer());
}

export async function unpackText(id: string): Promise<string> {
  return new TextDecoder().decode(await unpack(id));
}
