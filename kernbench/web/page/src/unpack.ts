// What a report carries in its elements: bytes, compressed by gzip and written as base64.

/** The bytes of an element. */
export async function unpack(id: string): Promise<Uint8Array> {
  const packed = atob(document.getElementById(id)?.textContent ?? "");
  const bytes = Uint8Array.from(packed, (letter) => letter.charCodeAt(0));
  const plain = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(plain).arrayBuffer());
}

export async function unpackText(id: string): Promise<string> {
  return new TextDecoder().decode(await unpack(id));
}
