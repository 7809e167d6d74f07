//! jupyter
