// Views whose code is fetched when they are first shown, because the charts in them are large.
import type { FunctionComponent } from "preact";
import { useEffect, useState } from "preact/hooks";

/** A component that stands for another one, which `load` fetches; meanwhile, and where that fails, it says so. */
export function lazy<Props extends object>(load: () => Promise<FunctionComponent<Props>>, told: string): FunctionComponent<Props> {
  let kept: FunctionComponent<Props> | null = null;
  return (props) => {
    const [View, setView] = useState<FunctionComponent<Props> | null>(() => kept);
    const [failed, setFailed] = useState(false);
    useEffect(() => {
      let gone = false;
      if (View) return;
      load().then(
        (found) => {
          kept = found;
          if (!gone) setView(() => found);
        },
        () => gone || setFailed(true),
      );
      return () => {
        gone = true;
      };
    }, [View]);
    if (failed) return <p class="message error" role="alert">The viewer's server did not send this view. Is `kernbench web` still running? Load the page again.</p>;
    return View ? <View {...props} /> : <p class="message loading">{told}</p>;
  };
}
