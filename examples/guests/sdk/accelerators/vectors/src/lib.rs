//! Has no content: the package consists of tests.
