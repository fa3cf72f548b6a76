//! ECDSA on secp256k1, by libsecp256k1.
use secp256k1_sys::recovery::{
    secp256k1_ecdsa_recover, secp256k1_ecdsa_recoverable_signature_parse_compact, RecoverableSignature,
};
use secp256k1_sys::{
    secp256k1_context_static, secp256k1_ec_pubkey_parse, secp256k1_ec_pubkey_serialize, secp256k1_ecdsa_signature_normalize,
    secp256k1_ecdsa_signature_parse_compact, secp256k1_ecdsa_verify, Context, PublicKey, Signature,
    SECP256K1_SER_UNCOMPRESSED,
};

const SUCCESS: i32 = 1;

/// Returns the library's context without tables of multiples of the generator: it is for verification.
fn context() -> *const Context {
    // SAFETY: the library never writes it.
    unsafe { secp256k1_context_static }
}

/// Returns whether a signature is valid. `key` is an uncompressed point.
pub fn verify(message: &[u8; 32], signature: &[u8; 64], key: &[u8; 65]) -> bool {
    // SAFETY: all pointers point to values of the types and sizes that the functions state, and a key and a signature are
    // used only if parsing them succeeded.
    unsafe {
        let (mut parsed, mut public) = (Signature::new(), PublicKey::new());
        if secp256k1_ecdsa_signature_parse_compact(context(), &mut parsed, signature.as_ptr()) != SUCCESS
            || secp256k1_ec_pubkey_parse(context(), &mut public, key.as_ptr(), key.len()) != SUCCESS
        {
            return false;
        }
        // The library refuses a high s, as EIP-2 does for transactions. Of (r, s) and (r, n - s) both are valid or none.
        let mut low = Signature::new();
        secp256k1_ecdsa_signature_normalize(context(), &mut low, &parsed);
        secp256k1_ecdsa_verify(context(), &low, message.as_ptr(), &public) == SUCCESS
    }
}

/// Returns the uncompressed point of the key that made a signature, if there is one.
pub fn recover(message: &[u8; 32], signature: &[u8; 64], recid: u8) -> Option<[u8; 65]> {
    if recid > 3 {
        return None;
    }
    // SAFETY: as in `verify`.
    unsafe {
        let (mut parsed, mut public) = (RecoverableSignature::new(), PublicKey::new());
        let parse = secp256k1_ecdsa_recoverable_signature_parse_compact;
        if parse(context(), &mut parsed, signature.as_ptr(), recid.into()) != SUCCESS
            || secp256k1_ecdsa_recover(context(), &mut public, &parsed, message.as_ptr()) != SUCCESS
        {
            return None;
        }
        let (mut point, mut size) = ([0; 65], 65);
        let serialize = secp256k1_ec_pubkey_serialize;
        serialize(context(), point.as_mut_ptr(), &mut size, &public, SECP256K1_SER_UNCOMPRESSED);
        Some(point)
    }
}
