//! Links the kit's library, which lies beside this crate, and lets the linker find the script that the target names.
use std::env;
use std::path::Path;

fn main() {
    let crate_folder = env::var("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR");
    let kit = Path::new(&crate_folder).parent().expect("the crate lies in the kit's folder");
    for name in ["libzkvm.a", "zkvm.ld"] {
        let file = kit.join(name);
        assert!(
            file.is_file(),
            "{}: not there: copy the whole folder that `graphprover new-guest` makes",
            file.display()
        );
        println!("cargo:rerun-if-changed={}", file.display());
    }
    println!("cargo:rustc-link-search=native={}", kit.display());
    println!("cargo:rustc-link-lib=static:-bundle=zkvm");
}
