// What went wrong in place of a view, and a way back to all there is.
export function Problem({ text }: { text: string }) {
  return (
    <div class="message error" role="alert">
      <p>{text.replace(/^[a-z]+ /, (word) => word.charAt(0).toUpperCase() + word.slice(1))}</p>
      <p>
        <a href="#/">All runs, sweeps and machines</a>
      </p>
    </div>
  );
}
