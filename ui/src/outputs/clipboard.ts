// A picture for the clipboard. Browsers take PNG there and little else, so that is what every picture becomes.

export const canCopyPictures = (): boolean =>
  typeof ClipboardItem !== "undefined" && typeof navigator.clipboard?.write === "function";

/** The clipboard is asked for at once, while the click still counts; the bytes may come later. */
export async function copyPicture(mediaType: string, bytes: Promise<ArrayBuffer>): Promise<void> {
  const png = bytes.then((content) => asPng(new Blob([content], { type: mediaType })));
  await navigator.clipboard.write([new ClipboardItem({ "image/png": png })]);
}

async function asPng(picture: Blob): Promise<Blob> {
  if (picture.type === "image/png") return picture;
  const bitmap = await createImageBitmap(picture);
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [bitmap.width, bitmap.height];
  canvas.getContext("2d")?.drawImage(bitmap, 0, 0);
  return new Promise((resolve, reject) => {
    canvas.toBlob(
      (blob) => (blob ? resolve(blob) : reject(new Error("The picture could not be copied."))),
      "image/png",
    );
  });
}
